import type { DatabaseServer } from '@sume-inbox/shared/ledger'
import { type Finding, fail, ok, warn } from './finding.ts'

/** A statement carries the ids beside the body. */
const PACKET_SPARE = 64 * 1024
const SKEW_NOTICED_MS = 2000

/** Whether the ledger can live on this server. Sources of the versions: docs/architecture.md and the README. */
export function judgeDatabase(server: DatabaseServer, bodyLimitBytes: number): Finding[] {
  return [
    judgeVersion(server.version),
    judgeSession(server.variables),
    judgePacket(Number(server.variables['max_allowed_packet']), bodyLimitBytes),
    judgeFlush(server.variables['innodb_flush_log_at_trx_commit']),
    ...(['ON', '1'].includes(server.variables['read_only'] ?? '')
      ? [fail('MySQL is read-only', 'let DATABASE_URL name the writing server')]
      : []),
  ]
}

function judgeVersion(version: string): Finding {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/, 3).map(Number)
  const isMariaDb = /mariadb/i.test(version)
  const name = isMariaDb ? 'MariaDB' : 'MySQL'
  const least = isMariaDb ? [10, 11, 0] : [8, 0, 19]
  const number = [major, minor, patch]
  if (isAtLeast(number, least)) return ok(`${name} ${number.join('.')} is supported`)
  return fail(`${name} ${number.join('.')} is too old`, `use ${name} ${least.join('.')} or newer`)
}

function isAtLeast(number: readonly number[], least: readonly number[]): boolean {
  for (const [i, part] of least.entries()) {
    if (number[i] !== part) return (number[i] ?? 0) > part
  }
  return true
}

function judgeSession(variables: Readonly<Record<string, string>>): Finding {
  const isolation = variables['transaction_isolation'] ?? variables['tx_isolation']
  const wrong = [
    variables['sql_mode']?.includes('STRICT_ALL_TABLES') ? '' : 'sql_mode is not strict',
    variables['time_zone'] === '+00:00' ? '' : 'time_zone is not UTC',
    isolation === 'READ-COMMITTED' ? '' : 'isolation is not READ COMMITTED',
    Number(variables['innodb_lock_wait_timeout']) <= 5 ? '' : 'innodb_lock_wait_timeout is long',
  ].filter((problem) => problem !== '')
  if (wrong.length === 0) return ok('sessions are strict, UTC, READ COMMITTED')
  return fail(
    `sessions lose their settings: ${wrong.join(', ')}`,
    'a proxy that shares sessions may do that: pin sessions in it, or connect without it',
  )
}

function judgePacket(packet: number, bodyLimitBytes: number): Finding {
  const needed = bodyLimitBytes + PACKET_SPARE
  if (packet >= needed) return ok(`max_allowed_packet ${packet} holds the largest body`)
  return fail(
    `max_allowed_packet ${packet} is too small for a body of BODY_LIMIT_BYTES`,
    `set max_allowed_packet to ${needed} or more, or lower BODY_LIMIT_BYTES`,
  )
}

function judgeFlush(flush: string | undefined): Finding {
  if (flush === '1') return ok('every commit is flushed to disk')
  return warn(
    `innodb_flush_log_at_trx_commit is ${flush ?? 'unknown'}: a crash of the server can lose events that were answered with 200`,
    'set innodb_flush_log_at_trx_commit to 1',
  )
}

/** Signatures are judged by the receiver's clock: one that is far off refuses every delivery. */
export function judgeSkew(skewMs: number, toleranceSeconds: number): Finding {
  const off = `this clock and MySQL's are ${Math.round(Math.abs(skewMs) / 100) / 10} s apart`
  const fix = 'let both machines keep time by NTP'
  if (Math.abs(skewMs) >= toleranceSeconds * 1000) return fail(off, fix)
  return Math.abs(skewMs) > SKEW_NOTICED_MS ? warn(off, fix) : ok(off)
}
