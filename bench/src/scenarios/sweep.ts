import { leaseDue } from '@sume-inbox/shared/ledger'
import { openProducer, openRestorer } from '@sume-inbox/shared/queues'
import { openTestDatabase, servers, testPrefix } from '@sume-inbox/testing'
import Table from 'cli-table3'
import mysql, { type Connection, type RowDataPacket } from 'mysql2/promise'
import type { BenchOptions, Scenario } from '../scenario.ts'
import { ms, type Stats, statsOf, timed } from '../stats.ts'

const DUE = 100
const INTERVAL_MS = 5000
/** The measure: at the largest table at most so many times what it takes at the smallest. */
const MOST = 2

const FULL = { sizes: [10_000, 1_000_000, 10_000_000], rounds: 200 }
const SMOKE = { sizes: [1000, 10_000], rounds: 3 }
/** Rows that one statement adds: small enough for its undo log, large enough to be quick. */
const CHUNK = 200_000

/** The sweep's own SELECT, for its plan and for the bare driver. */
const SELECT = `SELECT dedupe_key, status FROM sume_events
 WHERE state = 'claimed' AND urgent IN (0, 1) AND due_at <= NOW(3) ORDER BY urgent DESC, due_at LIMIT ${DUE} FOR UPDATE SKIP LOCKED`

interface Measured {
  readonly rows: number
  readonly sweep: Stats
  readonly bare: Stats
  readonly plan: string
}

/** One sweep of 100 due events that all wait in the queue, in tables of growing size. */
export const sweep: Scenario = {
  name: 'sweep',
  summary: `one sweep of ${DUE} due events, in tables of 10 k, 1 M and 10 M rows`,
  async run({ smoke, say }) {
    const { sizes, rounds } = smoke ? SMOKE : FULL
    const database = await openTestDatabase({ timeoutMs: 60_000 })
    const bare = await mysql.createConnection({ uri: database.url })
    const prefix = testPrefix()
    const queue = {
      redisUrl: servers().redisUrl,
      prefix,
      maxAttempts: 10,
      onError: () => undefined,
    }
    const restorer = openRestorer(queue)
    try {
      await bare.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
      await fillDue(bare)
      await enqueueDue(queue)
      const measured: Measured[] = []
      let filled = DUE
      for (const rows of sizes) {
        await fill(bare, filled, rows, say)
        filled = rows
        await bare.query('ANALYZE TABLE sume_events')
        const times: { sweep: number[]; bare: number[] } = { sweep: [], bare: [] }
        for (let round = 0; round < rounds; round++) {
          await makeDue(bare)
          times.bare.push(await timed(() => bareSweep(bare)))
          await makeDue(bare)
          times.sweep.push(
            await timed(async () => {
              const due = await leaseDue(database.ledger, DUE, INTERVAL_MS)
              if (due.length !== DUE) throw new Error(`${due.length} events were due`)
              const restored = await restorer.restore(
                due.map(({ dedupe_key: dedupeKey, status }) => ({ dedupeKey, status })),
              )
              if (restored.length !== 0) throw new Error('what waits was put back')
            }),
          )
        }
        measured.push({
          rows,
          sweep: statsOf(times.sweep),
          bare: statsOf(times.bare),
          plan: await planOf(bare),
        })
      }
      return tell(measured, say) || smoke
    } finally {
      await restorer.close()
      await bare.end()
      await database.drop()
    }
  },
}

/** The due events; a tenth of them ERROR. */
const fillDue = (on: Connection) =>
  on.query(
    `INSERT INTO sume_events (dedupe_key, event, status, payload)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${DUE})
     SELECT CONCAT('job_due_', i), 'job.completed', IF(i % 10 = 0, 'ERROR', 'OK'), '{}' FROM n`,
  )

async function enqueueDue(queue: Parameters<typeof openProducer>[0]): Promise<void> {
  const producer = openProducer(queue)
  for (let i = 1; i <= DUE; i++) {
    const status = i % 10 === 0 ? 'ERROR' : 'OK'
    await producer.enqueue({ dedupeKey: `job_due_${i}`, status })
  }
  await producer.close()
}

/** Adds done events with a small payload, as a busy year leaves them. */
async function fill(on: Connection, from: number, to: number, say: BenchOptions['say']) {
  say(`  filling the table up to ${to} rows`)
  await on.query('SET SESSION max_recursive_iterations = 1000000').catch(() => undefined)
  await on.query('SET SESSION cte_max_recursion_depth = 1000000').catch(() => undefined)
  for (let at = from; at < to; at += CHUNK) {
    const count = Math.min(CHUNK, to - at)
    await on.query(
      `INSERT INTO sume_events (dedupe_key, event, status, payload, state, attempts, done_at, due_at)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
       SELECT CONCAT('job_', LPAD(${at} + i, 12, '0')), 'job.completed', IF(i % 10 = 0, 'ERROR', 'OK'),
              '{"event":"job.completed","status":"OK"}', 'done', 1, NOW(3), NOW(3) - INTERVAL (${at} + i) SECOND FROM n`,
    )
  }
}

const makeDue = (on: Connection) =>
  on.query(
    "UPDATE sume_events SET due_at = NOW(3) - INTERVAL 1 SECOND WHERE dedupe_key LIKE 'job\\_due\\_%'",
  )

/** The sweep's two statements and nothing else. */
async function bareSweep(on: Connection): Promise<void> {
  await on.query('START TRANSACTION')
  const [rows] = await on.query<(RowDataPacket & { dedupe_key: string })[]>(SELECT)
  await on.query(
    'UPDATE sume_events SET due_at = NOW(3) + INTERVAL 5 SECOND WHERE dedupe_key IN (?)',
    [rows.map((row) => row.dedupe_key)],
  )
  await on.query('COMMIT')
}

async function planOf(on: Connection): Promise<string> {
  const [[version]] = (await on.query('SELECT VERSION() AS v')) as unknown as [[{ v: string }]]
  const form = version?.v.includes('MariaDB') ? '' : 'FORMAT=TRADITIONAL'
  const [[plan]] = await on.query<(RowDataPacket & Record<string, unknown>)[]>(
    `EXPLAIN ${form} ${SELECT}`,
  )
  const of = (name: string) => String(plan?.[name] ?? '')
  return `${of('type')} ${of('key')} rows ${of('rows')} ${of('Extra')}`
}

/** @returns whether the measure is reached. */
function tell(measured: readonly Measured[], say: BenchOptions['say']): boolean {
  const [first] = measured
  const last = measured.at(-1)
  if (first === undefined || last === undefined) return false
  const table = new Table({
    head: [
      'rows',
      'sweep ms (median)',
      'p95',
      'bare SQL ms',
      'sweep / bare',
      'sweep / smallest',
      'plan',
    ],
    style: { head: [], border: [], compact: true },
  })
  for (const { rows, sweep: ours, bare, plan } of measured) {
    table.push([
      rows,
      ms(ours.median),
      ms(ours.p95),
      ms(bare.median),
      ms(ours.median / bare.median),
      ms(ours.median / first.sweep.median),
      plan,
    ])
  }
  say(table.toString())
  const ratio = last.sweep.median / first.sweep.median
  const reached = ratio <= MOST
  say(
    `  largest / smallest: ${ms(ratio)} (must be at most ${MOST}): ${reached ? 'reached' : 'NOT reached'}`,
  )
  return reached
}
