import { expect, test } from 'vitest'
import { judgeDatabase, judgeSkew } from './judge-database.ts'

const good = {
  version: '8.4.3',
  nowMs: 0,
  variables: {
    sql_mode: 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
    time_zone: '+00:00',
    transaction_isolation: 'READ-COMMITTED',
    innodb_lock_wait_timeout: '3',
    max_allowed_packet: '16777216',
    innodb_flush_log_at_trx_commit: '1',
    read_only: 'OFF',
  },
}
const MIB = 1024 * 1024

const problems = (server: { version?: string; variables?: Record<string, string> }) =>
  judgeDatabase(
    { ...good, ...server, variables: { ...good.variables, ...server.variables } },
    MIB,
  ).filter(({ level }) => level !== 'ok')

test.each([
  '8.0.19',
  '8.0.40-cluster',
  '8.4.3',
  '9.7.0',
  '10.11.6-MariaDB-0+deb12u1',
  '11.4.2-MariaDB',
])('version %s is supported', (version) => {
  expect(problems({ version })).toEqual([])
})

test.each(['5.7.44', '8.0.18', '10.6.20-MariaDB', '10.10.2-MariaDB-log'])(
  'version %s fails',
  (version) => {
    expect(problems({ version })).toMatchObject([
      { level: 'fail', what: expect.stringContaining('too old') },
    ])
  },
)

test.each([
  ['sql_mode', 'NO_ENGINE_SUBSTITUTION', 'fail'],
  ['time_zone', 'SYSTEM', 'fail'],
  ['transaction_isolation', 'REPEATABLE-READ', 'fail'],
  ['innodb_lock_wait_timeout', '50', 'fail'],
  ['max_allowed_packet', String(MIB), 'fail'],
  ['read_only', 'ON', 'fail'],
  ['innodb_flush_log_at_trx_commit', '2', 'warn'],
])('%s = %s is a %s with a fix', (name, value, level) => {
  expect(problems({ variables: { [name]: value } })).toMatchObject([
    { level, fix: expect.stringMatching(/\w/) },
  ])
})

test('clocks: close is fine, seconds apart is a warning, beyond the tolerance fails; either way', () => {
  expect(
    [0, -900, 2500, -2500, 299_000, 300_000, -300_000].map((ms) => judgeSkew(ms, 300).level),
  ).toEqual(['ok', 'ok', 'warn', 'warn', 'warn', 'fail', 'fail'])
})
