import {
  exhaustEvent,
  readClaimed,
  readStanding,
  renewLease,
  replayEvents,
  retryEvent,
  settleDead,
  settleDone,
  settleRetry,
  settleSnooze,
} from '@sume-inbox/shared/ledger'
import { openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claim, eventRow, lapse, newEvent, select } from './events.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.drop())

interface AttemptRow {
  readonly attempt: number
  readonly worker: string
  readonly outcome: string
  readonly error: string | null
  readonly started_at: Date
  readonly ended_at: Date
}

const story = (key: string) =>
  select<AttemptRow>(db.ledger, 'SELECT * FROM sume_attempts WHERE dedupe_key = ? ORDER BY id', [
    key,
  ])
const replays = (key: string) =>
  select(
    db.ledger,
    'SELECT what, replayed_by, why FROM sume_replays WHERE dedupe_key = ? ORDER BY id',
    [key],
  )
const person = { by: 'Ada Łovelace', why: 'the API key was wrong' }
const dueInMs = async (key: string) => {
  const [row] = await select<{ ms: number }>(
    db.ledger,
    'SELECT TIMESTAMPDIFF(MICROSECOND, NOW(3), due_at) DIV 1000 AS ms FROM sume_events WHERE dedupe_key = ?',
    [key],
  )
  return Number(row?.ms)
}
/** `ms`, or a little less: some time has passed since. */
const about = (ms: number) => ({
  asymmetricMatch: (value: unknown) => Number(value) <= ms && Number(value) > ms - 2000,
})

test('a claim counts the attempt, leases the event and moves its due time to the lease’s end', async () => {
  const key = await newEvent(db.ledger)
  const a = await claim(db.ledger, key, { leaseMs: 30_000 })
  expect(await readClaimed(db.ledger, key, a.token)).toMatchObject({
    attempts: 1,
    payload: '{}',
    status: 'OK',
    kind: 'job',
  })
  expect(await readStanding(db.ledger, key, a.token)).toEqual({
    state: 'claimed',
    leaseLeftMs: about(30_000),
    attempts: 1,
    snoozes: 0,
    held: true,
  })
  expect(await dueInMs(key)).toEqual(about(30_000))
  const b = await claim(db.ledger, key)
  expect(await readClaimed(db.ledger, key, b.token)).toBeNull()
  expect(await readStanding(db.ledger, key, b.token)).toMatchObject({ held: false })
  expect(await readStanding(db.ledger, 'job_nothing', b.token)).toBeNull()
})

test('a renewal moves lease and due time ahead together', async () => {
  const key = await newEvent(db.ledger)
  const a = await claim(db.ledger, key, { leaseMs: 1000 })
  expect(await renewLease(db.ledger, key, a.token, 60_000)).toBe(true)
  expect(await dueInMs(key)).toEqual(about(60_000))
  expect(await readStanding(db.ledger, key, a.token)).toMatchObject({ leaseLeftMs: about(60_000) })
})

test('a token that ends in a space and a zero byte is stored and matched whole', async () => {
  const key = await newEvent(db.ledger)
  const token = Buffer.concat([Buffer.alloc(14, 7), Buffer.from([0x20, 0x00])])
  await claim(db.ledger, key, { token })
  expect(await renewLease(db.ledger, key, Buffer.alloc(16, 7), 60_000)).toBe(false)
  expect(await readClaimed(db.ledger, key, token)).not.toBeNull()
})

test('retry, snooze and dead enter the story with worker, times and error; done does not', async () => {
  const key = await newEvent(db.ledger)
  const first = await claim(db.ledger, key, { worker: 'worker-1' })
  await settleRetry(db.ledger, first, { error: 'no answer', backoffMs: 5000, graceMs: 15_000 })
  expect(await dueInMs(key)).toEqual(about(20_000))
  const second = await claim(db.ledger, key, { attempt: 2 })
  await settleSnooze(db.ledger, second, { ms: 60_000, graceMs: 15_000, maxSnoozes: 2 })
  expect(await dueInMs(key)).toEqual(about(75_000))
  expect(await eventRow(db.ledger, key)).toMatchObject({
    attempts: 1,
    snoozes: 1,
    lease_token: null,
  })
  const third = await claim(db.ledger, key, { attempt: 2 })
  await settleDead(db.ledger, third, 'given up')
  expect(await story(key)).toMatchObject([
    { attempt: 1, worker: 'worker-1', outcome: 'retry', error: 'no answer' },
    { attempt: 2, worker: 'test-worker', outcome: 'snooze', error: null },
    { attempt: 2, worker: 'test-worker', outcome: 'dead', error: 'given up' },
  ])
  for (const { started_at, ended_at } of await story(key))
    expect(+ended_at).toBeGreaterThanOrEqual(+started_at)
  expect(await eventRow(db.ledger, key)).toMatchObject({ state: 'dead', last_error: 'given up' })

  const done = await newEvent(db.ledger)
  await settleDone(db.ledger, await claim(db.ledger, done))
  expect(await story(done)).toEqual([])
  expect(await eventRow(db.ledger, done)).toMatchObject({
    state: 'done',
    done_at: expect.any(Date),
    leased_until: null,
  })
})

test('a refused settle leaves no trace in the story', async () => {
  const key = await newEvent(db.ledger)
  const a = await claim(db.ledger, key)
  await lapse(db.ledger, key)
  await claim(db.ledger, key, { attempt: 2 })
  expect(await settleDead(db.ledger, a, 'late')).toBe(false)
  expect(await story(key)).toMatchObject([{ outcome: 'lost' }])
})

test('an attempt that never settled is lost, once, with its own number, worker and end', async () => {
  const key = await newEvent(db.ledger)
  await claim(db.ledger, key, { worker: 'worker-gone' })
  await lapse(db.ledger, key)
  const { leased_until } = await eventRow(db.ledger, key)
  expect((await claim(db.ledger, key, { worker: 'worker-next' })).claimed).toBe(true)
  await claim(db.ledger, key)
  expect(await story(key)).toMatchObject([
    {
      attempt: 1,
      worker: 'worker-gone',
      outcome: 'lost',
      ended_at: leased_until,
      error: expect.any(String),
    },
  ])
})

test('the last attempt that never settled is lost once, although claims come before the exhaust', async () => {
  const key = await newEvent(db.ledger)
  await claim(db.ledger, key, { maxAttempts: 1 })
  await lapse(db.ledger, key)
  expect((await claim(db.ledger, key, { maxAttempts: 1 })).claimed).toBe(false)
  expect(await story(key)).toEqual([])
  expect(await exhaustEvent(db.ledger, key, 1)).toBe(true)
  expect(await exhaustEvent(db.ledger, key, 1)).toBe(false)
  expect(await story(key)).toMatchObject([{ attempt: 1, outcome: 'lost' }])
  const { state, last_error } = await eventRow(db.ledger, key)
  expect({ state, last_error }).toEqual({
    state: 'dead',
    last_error: expect.stringContaining('never settled'),
  })
})

test('an exhausted event whose last attempt did settle keeps that attempt’s error', async () => {
  const key = await newEvent(db.ledger)
  await settleRetry(db.ledger, await claim(db.ledger, key), {
    error: 'no answer',
    backoffMs: 0,
    graceMs: 0,
  })
  expect(await exhaustEvent(db.ledger, key, 1)).toBe(true)
  expect(await eventRow(db.ledger, key)).toMatchObject({ state: 'dead', last_error: 'no answer' })
  expect(await story(key)).toMatchObject([{ outcome: 'retry' }])
})

test('an event is snoozed no more often than allowed, and the attempt is still held then', async () => {
  const key = await newEvent(db.ledger)
  const snooze = { ms: 0, graceMs: 0, maxSnoozes: 2 }
  for (let i = 0; i < 2; i++)
    expect(await settleSnooze(db.ledger, await claim(db.ledger, key), snooze)).toBe(true)
  const a = await claim(db.ledger, key)
  expect(await settleSnooze(db.ledger, a, snooze)).toBe(false)
  expect(await readStanding(db.ledger, key, a.token)).toMatchObject({ held: true, snoozes: 2 })
  expect(
    await settleRetry(db.ledger, a, { error: 'snoozed too often', backoffMs: 0, graceMs: 0 }),
  ).toBe(true)
})

test('Retry gives a dead event one attempt, replay all of them, and both say who and why', async () => {
  const key = await newEvent(db.ledger)
  await settleDead(db.ledger, await claim(db.ledger, key), 'x')
  expect(await retryEvent(db.ledger, key, 3, person)).toBe(true)
  expect(await eventRow(db.ledger, key)).toMatchObject({
    state: 'claimed',
    attempts: 2,
    last_error: 'x',
  })
  expect(await dueInMs(key)).toEqual(about(0))
  expect(await retryEvent(db.ledger, key, 3, person)).toBe(false)
  await settleDead(db.ledger, await claim(db.ledger, key, { attempt: 3 }), 'y')
  expect(await replayEvents(db.ledger, 'replay', [key], { by: 'Bo', why: null })).toEqual([key])
  expect(await replayEvents(db.ledger, 'replay', [key], person)).toEqual([])
  expect(await eventRow(db.ledger, key)).toMatchObject({
    state: 'claimed',
    attempts: 0,
    snoozes: 0,
  })
  expect(await replays(key)).toEqual([
    { what: 'retry', replayed_by: person.by, why: person.why },
    { what: 'replay', replayed_by: 'Bo', why: null },
  ])
})

test('a done event runs again only by a forced replay', async () => {
  const key = await newEvent(db.ledger)
  await settleDone(db.ledger, await claim(db.ledger, key))
  expect(await replayEvents(db.ledger, 'replay', [key], person)).toEqual([])
  expect(await retryEvent(db.ledger, key, 3, person)).toBe(false)
  expect(await replayEvents(db.ledger, 'forced', [key], person)).toEqual([key])
  expect(await replayEvents(db.ledger, 'forced', [key], person)).toEqual([])
  expect(await eventRow(db.ledger, key)).toMatchObject({
    state: 'claimed',
    attempts: 0,
    done_at: null,
  })
  expect(await replays(key)).toMatchObject([{ what: 'forced' }])
})
