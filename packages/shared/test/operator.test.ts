import {
  listReplays,
  listQuarantine,
  quarantineBody,
  readQuarantined,
  settleDead,
  settleDone,
} from '@sume-inbox/shared/ledger'
import { countMatching, releaseMany, replayMany, replayOne } from '@sume-inbox/shared/operator'
import { jobBody, openTestDatabase, runBody, type TestDatabase } from '@sume-inbox/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claim, eventRow, newEvent, select } from './events.ts'

let db: TestDatabase
/** What Redis was told to enqueue, and whether it is there. */
let enqueued: string[]
let redisIsUp: boolean

const reviver = { by: 'Ann', why: 'mail is back' }
const deps = () => ({
  ledger: db.ledger,
  restorer: {
    async restore(events: readonly { dedupeKey: string }[]) {
      if (!redisIsUp) throw new Error('Redis is away')
      enqueued.push(...events.map(({ dedupeKey }) => dedupeKey))
      return []
    },
  },
})

beforeEach(async () => {
  db = await openTestDatabase()
  enqueued = []
  redisIsUp = true
})
afterEach(() => db.drop())

async function dead(error = 'boom', status: 'OK' | 'ERROR' = 'OK'): Promise<string> {
  const key = await newEvent(db.ledger, { status })
  await settleDead(db.ledger, await claim(db.ledger, key), error)
  return key
}

const row = (key: string) => eventRow(db.ledger, key)

test('a dead event is claimed again with all its attempts, enqueued, and the replay is written down', async () => {
  const key = await dead()
  const replayed = await replayOne(deps(), await row(key), { force: false, reviver })
  expect(replayed).toEqual({ replayed: true, enqueued: true })
  expect(await row(key)).toMatchObject({ state: 'claimed', attempts: 0 })
  expect(enqueued).toEqual([key])
  expect(await listReplays(db.ledger, key, 10)).toMatchObject([
    { what: 'replay', replayed_by: 'Ann', why: 'mail is back' },
  ])
})

test('what is done needs force, what is claimed or emptied cannot be replayed, and neither leaves a trace', async () => {
  const key = await newEvent(db.ledger)
  const refused = (because: string) => ({ replayed: false, because })
  const replay = async (force: boolean) => replayOne(deps(), await row(key), { force, reviver })
  expect(await replay(true)).toEqual(refused('claimed'))
  await settleDone(db.ledger, await claim(db.ledger, key))
  expect(await replay(false)).toEqual(refused('done'))
  expect(await listReplays(db.ledger, key, 10)).toEqual([])
  expect(await replay(true)).toEqual({ replayed: true, enqueued: true })
  await settleDone(db.ledger, await claim(db.ledger, key))
  await db.ledger.query("UPDATE sume_events SET payload = ''")
  expect(await replay(true)).toEqual(refused('emptied'))
  expect(await listReplays(db.ledger, key, 10)).toMatchObject([{ what: 'forced' }])
})

test('with Redis away a replay is kept all the same, and is due for the next sweep', async () => {
  redisIsUp = false
  const key = await dead()
  expect(await replayOne(deps(), await row(key), { force: false, reviver })).toEqual({
    replayed: true,
    enqueued: false,
  })
  const [due] = await select<{ due: number }>(
    db.ledger,
    'SELECT due_at <= NOW(3) AS due FROM sume_events',
  )
  expect(due?.due).toBe(1)
  expect(await replayMany(deps(), { state: 'dead' }, { reviver })).toMatchObject({ matched: 0 })
})

test('many: only what the filter means, ERROR first, each once though it dies again meanwhile', async () => {
  const meant = [await dead('mail away'), await dead('mail away'), await dead('mail away', 'ERROR')]
  const others = [await dead('disk full'), await newEvent(db.ledger)]
  const filter = { state: 'dead', error: 'mail' } as const
  expect(await countMatching(db.ledger, filter)).toBe(3)
  const dying = {
    ...deps(),
    restorer: {
      async restore(events: readonly { dedupeKey: string }[]) {
        await deps().restorer.restore(events)
        // Each is run at once, and dies of the same.
        for (const { dedupeKey } of events)
          await settleDead(db.ledger, await claim(db.ledger, dedupeKey), 'mail away')
        return []
      },
    },
  }
  const report = await replayMany(dying, filter, { reviver })
  expect(report).toEqual({ matched: 3, replayed: 3, leftToSweeper: 0, stopped: false })
  expect(enqueued[0]).toBe(meant[2])
  expect(new Set(enqueued)).toEqual(new Set(meant))
  for (const key of others) expect(await listReplays(db.ledger, key, 10)).toEqual([])
})

test.each([
  [{ kind: 'run' }, 1],
  [{ kind: 'job' }, 2],
  [{ status: 'ERROR' }, 1],
  [{ event: 'job.failed' }, 1],
  [{ since: new Date(0) }, 3],
  [{ until: new Date(0) }, 0],
  [{ since: new Date(Date.now() + 60_000) }, 0],
  [{ error: '%' }, 0],
  [{}, 3],
] as const)('the filter %j means %i of three dead events', async (filter, count) => {
  await dead()
  await dead('boom', 'ERROR')
  await db.ledger.query("UPDATE sume_events SET event = 'job.failed' WHERE status = 'ERROR'")
  const run = runBody()
  await db.ledger.query(
    "INSERT INTO sume_events (dedupe_key, kind, sume_id, event, status, payload, state) VALUES (?, 'run', ?, 'run.completed', 'OK', ?, 'dead')",
    [run.dedupeKey, run.runId, run.body.toString()],
  )
  expect(await countMatching(db.ledger, { state: 'dead', ...filter })).toBe(count)
})

test('more than a page and a batch: all are replayed, progress is told, and a stop leaves the rest', async () => {
  await db.ledger.query(
    `INSERT INTO sume_events (dedupe_key, event, status, payload, state, due_at)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 950)
     SELECT CONCAT('job_', i), 'job.completed', 'OK', '{}', 'dead', '2026-01-01' FROM n`,
  )
  await db.ledger.query(
    `INSERT INTO sume_events (dedupe_key, event, status, payload, state, due_at)
     SELECT CONCAT(dedupe_key, '_b'), event, status, payload, state, due_at FROM sume_events`,
  )
  expect(await countMatching(db.ledger, { state: 'dead' })).toBe(1900)
  const stop = new AbortController()
  const first = await replayMany(
    deps(),
    { state: 'dead' },
    {
      reviver,
      signal: stop.signal,
      progress: ({ replayed }) => {
        if (replayed >= 300) stop.abort()
      },
    },
  )
  expect(first).toEqual({ matched: 300, replayed: 300, leftToSweeper: 0, stopped: true })
  const told: number[] = []
  const rest = await replayMany(
    deps(),
    { state: 'dead' },
    { reviver, progress: ({ replayed }) => told.push(replayed) },
  )
  expect(rest).toEqual({ matched: 1600, replayed: 1600, leftToSweeper: 0, stopped: false })
  expect(told.at(-1)).toBe(1600)
  expect(told.length).toBeGreaterThanOrEqual(16)
  expect(new Set(enqueued).size).toBe(1900)
})

test('a quarantined body that is an event by now enters with its deliveries, and leaves the quarantine', async () => {
  // As if an older version had not been able to read it.
  const { jobId, body } = jobBody()
  for (let n = 0; n < 3; n++) await quarantineBody(db.ledger, body, 'kind unclear')
  await quarantineBody(db.ledger, Buffer.from('{"no":"event"}'), 'no usable event')
  const known = jobBody()
  await quarantineBody(db.ledger, known.body, 'kind unclear')
  await newEvent(db.ledger, { dedupeKey: known.jobId })

  const bodies = await listQuarantine(db.ledger, { limit: 10 })
  expect(bodies).toHaveLength(3)
  expect(await listQuarantine(db.ledger, { limit: 10, reason: 'kind unclear' })).toHaveLength(2)
  const [found] = await readQuarantined(db.ledger, bodies[0]?.sha256.slice(0, 12) ?? '')
  expect(found).toMatchObject({ sha256: bodies[0]?.sha256 })

  const told: unknown[] = []
  const report = await releaseMany(
    deps(),
    bodies.map(({ sha256 }) => sha256),
    { reviver, told: (released) => told.push(released) },
  )
  expect(report).toEqual({ released: 2, stayed: 1, stopped: false })
  expect(await row(jobId)).toMatchObject({ state: 'claimed', deliveries: 3 })
  // A duplicate is counted and not enqueued again.
  expect(await row(known.jobId)).toMatchObject({ deliveries: 2 })
  expect(enqueued).toEqual([jobId])
  expect(await listQuarantine(db.ledger, { limit: 10 })).toMatchObject([
    { reason: 'no usable event' },
  ])
  expect(await listReplays(db.ledger, jobId, 10)).toMatchObject([{ what: 'released' }])
  const gone = await releaseMany(deps(), [bodies[0]?.sha256 ?? ''], { reviver })
  expect(gone.released).toBe(0)
})
