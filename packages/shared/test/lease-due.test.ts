import { type DueEvent, leaseDue, type Ledger, openLedger } from '@sume-inbox/shared/ledger'
import { openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import mysql from 'mysql2/promise'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { changedLedger } from './changed-ledger.ts'
import { claim, deliverTo, eventRow, jobEnvelope, newEvent, planOf } from './events.ts'

let db: TestDatabase
beforeEach(async () => {
  db = await openTestDatabase()
})
afterEach(() => db.drop())

/** Events whose time passed so many seconds ago. */
async function due(status: 'OK' | 'ERROR', secondsAgo: number[]): Promise<string[]> {
  const keys: string[] = []
  for (const seconds of secondsAgo) {
    const key = await newEvent(db.ledger, { status })
    await db.ledger.execute(
      'UPDATE sume_events SET due_at = NOW(3) - INTERVAL ? SECOND WHERE dedupe_key = ?',
      [seconds, key],
    )
    keys.push(key)
  }
  return keys
}
const keysOf = (events: DueEvent[]) => events.map((event) => event.dedupe_key)

test('due events are taken ERROR first, then by age, and each only once per interval', async () => {
  const [oldOk, newOk] = await due('OK', [900, 10])
  const [newError, oldError] = await due('ERROR', [1, 20])
  await newEvent(db.ledger)
  expect(keysOf(await leaseDue(db.ledger, 3, 60_000))).toEqual([oldError, newError, oldOk])
  expect(await leaseDue(db.ledger, 3, 60_000)).toEqual([{ dedupe_key: newOk, status: 'OK' }])
  expect(await leaseDue(db.ledger, 3, 60_000)).toEqual([])
})

test('an event that was taken comes back after the interval', async () => {
  const [key] = await due('OK', [5])
  await leaseDue(db.ledger, 10, 300)
  expect(await leaseDue(db.ledger, 10, 300)).toEqual([])
  await expect.poll(async () => keysOf(await leaseDue(db.ledger, 10, 300))).toEqual([key])
})

test('events that are done or dead are not taken', async () => {
  const [done, dead] = await due('ERROR', [5, 5])
  await db.ledger.query("UPDATE sume_events SET state = 'done' WHERE dedupe_key = ?", [done])
  await db.ledger.query("UPDATE sume_events SET state = 'dead' WHERE dedupe_key = ?", [dead])
  expect(await leaseDue(db.ledger, 10, 1000)).toEqual([])
})

test('a valid lease, its token and the attempts are left alone', async () => {
  const key = await newEvent(db.ledger)
  await claim(db.ledger, key)
  await db.ledger.query('UPDATE sume_events SET due_at = NOW(3) - INTERVAL 1 SECOND')
  const before = await eventRow(db.ledger, key)
  expect(keysOf(await leaseDue(db.ledger, 10, 60_000))).toEqual([key])
  const after = await eventRow(db.ledger, key)
  expect(after).toEqual({ ...before, due_at: after.due_at })
})

/** A ledger whose transactions do something more before they commit. */
const pausing = (ledger: Ledger, before: () => Promise<unknown>): Ledger => ({
  ...ledger,
  inTransaction: (work) =>
    ledger.inTransaction(async (tx) => {
      const result = await work(tx)
      await before()
      return result
    }),
})

test('two sweepers at once get different events, and neither waits for the other', async () => {
  const keys = await due('OK', [4, 3, 2, 1])
  let second: DueEvent[] = []
  const first = await leaseDue(
    pausing(db.ledger, async () => {
      second = await leaseDue(db.ledger, 10, 60_000)
    }),
    2,
    60_000,
  )
  expect(keysOf(first)).toEqual(keys.slice(0, 2))
  expect(keysOf(second)).toEqual(keys.slice(2))
})

test('a row that somebody has locked is passed over', async () => {
  const [locked, free] = await due('OK', [5, 4])
  const holder = await mysql.createConnection({ uri: db.url })
  onTestFinished(() => holder.destroy())
  await holder.query('START TRANSACTION')
  await holder.query('SELECT 1 FROM sume_events WHERE dedupe_key = ? FOR UPDATE', [locked])
  expect(keysOf(await leaseDue(db.ledger, 10, 60_000))).toEqual([free])
  await holder.query('ROLLBACK')
  expect(keysOf(await leaseDue(db.ledger, 10, 60_000))).toEqual([locked])
})

test('a sweep in the middle of its transaction holds up no new event', async () => {
  await due('OK', [3, 2, 1])
  const waiting = await newEvent(db.ledger)
  const sweep = leaseDue(
    pausing(db.ledger, async () => {
      await deliverTo(db.ledger, jobEnvelope())
      await deliverTo(db.ledger, jobEnvelope({ status: 'ERROR' }))
      // Nor the claim of an event that is not due.
      expect((await claim(db.ledger, waiting)).claimed).toBe(true)
    }),
    100,
    60_000,
  )
  expect(await sweep).toHaveLength(3)
})

test('… which it would under REPEATABLE READ', async () => {
  await due('OK', [3, 2, 1])
  const sweeping = openLedger({ url: db.url, poolSize: 1, timeoutMs: 6000 })
  onTestFinished(() => sweeping.close())
  await sweeping.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')
  // MySQL locks the gap of the ERROR events only, MariaDB that of the others too.
  const meanwhile = pausing(sweeping, async () => {
    await deliverTo(db.ledger, jobEnvelope())
    await deliverTo(db.ledger, jobEnvelope({ status: 'ERROR' }))
  })
  await expect(leaseDue(meanwhile, 100, 60_000)).rejects.toMatchObject({ errno: 1205 })
})

/** The text of the sweep's SELECT, as it reaches the server. */
async function sweepSql(): Promise<string> {
  const seen: string[] = []
  await leaseDue(
    changedLedger(db.ledger, { in: 'FOR UPDATE', from: 'SELECT', to: 'SELECT' }, seen),
    1,
    1,
  )
  return seen.join()
}

test('the sweep reads due events only: all parts of the index, in its order', async () => {
  await db.ledger.query(
    `INSERT INTO sume_events (dedupe_key, event, status, payload, due_at)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
     SELECT CONCAT('job_', i), 'job.completed', IF(i % 5 = 0, 'ERROR', 'OK'), '{}', NOW(3) + INTERVAL (i - 20) MINUTE FROM n`,
  )
  await db.ledger.query('ANALYZE TABLE sume_events')
  const sql = (await sweepSql()).replace('LIMIT ?', 'LIMIT 100')
  const plan = await planOf(db.ledger, sql)
  expect(plan).toMatchObject({ key: 'by_due', type: 'range' })
  expect(plan.Extra ?? '').not.toMatch(/filesort|temporary/i)
  const narrower = await planOf(db.ledger, sql.replace(' AND urgent IN (0, 1)', ''))
  expect(Number(plan.key_len)).toBeGreaterThan(Number(narrower.key_len))
})
