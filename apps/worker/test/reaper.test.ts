import { randomBytes } from 'node:crypto'
import {
  claimEvent,
  deleteEmptied,
  emptyPayloads,
  replayEvents,
  settleDead,
  settleDone,
} from '@sume-inbox/shared/ledger'
import { jobBody } from '@sume-inbox/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeReaper } from '../src/services/reaper.ts'
import { type Bench, openBench } from './harness.ts'

let bench: Bench
beforeEach(async () => {
  bench = await openBench()
})
afterEach(() => bench[Symbol.asyncDispose]())

const reap = (payloadDays: number, keyDays?: number) =>
  makeReaper(bench.ledger, { payloadDays, keyDays }).runOnce(new AbortController().signal)

async function lease(dedupeKey: string) {
  const token = randomBytes(16)
  const options = { dedupeKey, token, leaseMs: 60_000, maxAttempts: 5, worker: 'w' }
  if (!(await claimEvent(bench.ledger, options))) throw new Error('not claimed')
  return { dedupeKey, token, attempt: 1 }
}

async function done(daysAgo: number): Promise<string> {
  const key = await bench.record()
  await settleDone(bench.ledger, await lease(key))
  await age(key, daysAgo)
  return key
}

const age = (key: string, days: number) =>
  bench.rows(
    `UPDATE sume_events SET first_seen = first_seen - INTERVAL ? DAY, done_at = done_at - INTERVAL ? DAY,
            due_at = due_at - INTERVAL ? DAY WHERE dedupe_key = ?`,
    [days, days, days, key],
  )

const payload = async (key: string) =>
  (await bench.rows('SELECT payload FROM sume_events WHERE dedupe_key = ?', [key]))[0]?.['payload']

test('payloads of done events are emptied after their days; the keys stay, and a late delivery is a duplicate', async () => {
  const old = await done(31)
  const young = await done(29)
  const dead = await bench.record()
  await settleDead(bench.ledger, await lease(dead), 'x')
  await age(dead, 400)
  const open = await bench.record()
  await age(open, 400)

  expect(await reap(30)).toEqual({ emptied: 1, deleted: 0 })
  expect(await payload(old)).toBe('')
  for (const key of [young, dead, open]) expect(await payload(key)).not.toBe('')
  expect(await reap(30)).toEqual({ emptied: 0, deleted: 0 })

  await bench.record({ jobId: old })
  expect(await bench.row(old)).toMatchObject({ state: 'done', deliveries: 2 })
  expect(await payload(old)).toBe('')
})

test('an emptied event cannot be replayed, also not by force', async () => {
  const key = await done(31)
  await reap(30)
  const person = { by: 'Ann', why: null }
  expect(await replayEvents(bench.ledger, 'forced', [key], person)).toEqual([])
  expect(await bench.row(key)).toMatchObject({ state: 'done' })
})

test('keys go only after their own, longer time, with their stories; then a delivery is a new event', async () => {
  const ancient = await done(100)
  const old = await done(80)
  await bench.rows(
    "INSERT INTO sume_attempts (dedupe_key, attempt, outcome) VALUES (?, 1, 'lost')",
    [ancient],
  )
  expect(await reap(30)).toEqual({ emptied: 2, deleted: 0 })
  expect(await reap(30)).toEqual({ emptied: 0, deleted: 0 })
  expect(await reap(30, 90)).toEqual({ emptied: 0, deleted: 1 })
  expect(await bench.attempts(ancient)).toEqual([])
  expect(await bench.row(old)).toMatchObject({ state: 'done' })
  await bench.record({ jobId: ancient })
  expect(await bench.row(ancient)).toMatchObject({ state: 'claimed', deliveries: 1 })
})

test('three reapers at once do each event once, and no delivery waits for them', async () => {
  const { body } = jobBody()
  await bench.rows(
    `INSERT INTO sume_events (dedupe_key, event, status, payload, state, done_at, due_at)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 950)
     SELECT CONCAT('job_', i), 'job.completed', IF(i % 3 = 0, 'ERROR', 'OK'), ?, 'done', '2020-01-01', '2020-01-01' FROM n`,
    [body.toString()],
  )
  const [, ...first] = await Promise.all([bench.record(), reap(30), reap(30), reap(30)])
  // Who came second to a batch leaves the rest for its next run.
  const emptied = [...first, await reap(30)].reduce(
    (sum, report) => sum + (report['emptied'] ?? 0),
    0,
  )
  expect(emptied).toBe(950)
  const gone = [...(await Promise.all([reap(30, 90), reap(30, 90)])), await reap(30, 90)]
  expect(gone.reduce((sum, report) => sum + (report['deleted'] ?? 0), 0)).toBe(950)
})

test('it reads along the index: neither open nor emptied events', async () => {
  await bench.rows(
    `INSERT INTO sume_events (dedupe_key, event, status, payload, state, due_at)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
     SELECT CONCAT('job_', i), 'job.completed', 'OK', '{}', 'done', IF(i < 20, '2020-01-01', '2120-01-01') FROM n`,
  )
  await bench.rows('ANALYZE TABLE sume_events')
  // One connection, so that the session's counters are those of the statement.
  const [emptied, deleted] = await bench.ledger.inTransaction(async (tx) => {
    const ledger = {
      ...bench.ledger,
      ...tx,
      inTransaction: <T>(work: (on: typeof tx) => Promise<T>) => work(tx),
    }
    const count = async (reaping: () => Promise<number>) => {
      const [before] = await tx.query("SHOW SESSION STATUS LIKE 'Handler_read%'")
      await reaping()
      const [after] = await tx.query("SHOW SESSION STATUS LIKE 'Handler_read%'")
      const sum = (rows: unknown) =>
        (rows as { Value: string }[]).reduce((total, { Value }) => total + Number(Value), 0)
      return sum(after) - sum(before)
    }
    return [
      await count(() => emptyPayloads(ledger, 30, 100)),
      await count(() => deleteEmptied(ledger, 36_000, 100)),
    ]
  })
  expect(emptied).toBeGreaterThan(0)
  expect(emptied).toBeLessThan(300)
  expect(deleted).toBeLessThan(100)
})
