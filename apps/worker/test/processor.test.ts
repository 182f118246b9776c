import { claimEvent, type Ledger, replayEvents, settleDead } from '@sume-inbox/shared/ledger'
import { type InboxEvents, makeEvents, openLog } from '@sume-inbox/shared/telemetry'
import type { FollowUps } from '@sume-inbox/shared/follow-ups'
import { waitFor } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeProcessor, type ProcessorSettings } from '../src/processor.ts'
import { type Bench, openBench } from './harness.ts'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench[Symbol.asyncDispose]())

/** A processor without a queue: whatever hands out events may do so at any moment. */
function processor(
  followUps: FollowUps,
  settings: Partial<ProcessorSettings> = {},
  ledger: Ledger = bench.ledger,
) {
  const stopping = new AbortController()
  const events = makeEvents()
  const settled: InboxEvents['attempt:settled'][0][] = []
  const lost: InboxEvents['lease:lost'][0][] = []
  events.on('attempt:settled', (said) => settled.push(said))
  events.on('lease:lost', (said) => lost.push(said))
  const log = openLog('worker', 'silent')
  const process = makeProcessor(
    { ledger, followUps, events, log, stopping: stopping.signal },
    {
      worker: 'test:2',
      maxAttempts: 10,
      maxSnoozes: 100,
      leaseMs: 30_000,
      timeoutMs: 60_000,
      graceMs: 15_000,
      backoff: { baseMs: 1000, capMs: 10_000 },
      ...settings,
    },
  )
  return { process, settled, lost, stopping }
}

const claimFor = (dedupeKey: string, leaseMs: number, token = Buffer.alloc(16, 7)) =>
  claimEvent(bench.ledger, { dedupeKey, token, leaseMs, maxAttempts: 10, worker: 'other:1' })

const lapse = (key: string) =>
  waitFor('the lease to lapse', async () => {
    const [row] = await bench.rows(
      'SELECT leased_until <= NOW(3) AS lapsed FROM sume_events WHERE dedupe_key = ?',
      [key],
    )
    return row?.['lapsed'] === 1
  })

test('while a lease is valid no second run starts; the job comes back when it ends', async () => {
  const key = await bench.record()
  await claimFor(key, 20_000)
  let ran = false
  const { process } = processor({ '*': () => void (ran = true) })
  const verdict = await process(key)
  expect(verdict).toMatchObject({ verdict: 'delay' })
  expect((verdict as { ms: number }).ms).toBeGreaterThan(18_000)
  expect((verdict as { ms: number }).ms).toBeLessThanOrEqual(20_500)
  expect(ran).toBe(false)
  expect(await bench.row(key)).toMatchObject({ attempts: 1, leased_by: 'other:1' })
})

test('a done event and a missing one are told apart', async () => {
  const key = await bench.record()
  let runs = 0
  const { process } = processor({ '*': () => void runs++ })
  expect(await process(key)).toEqual({ verdict: 'completed' })
  expect(await process(key)).toEqual({ verdict: 'completed' })
  expect(runs).toBe(1)
  expect(await process('job_missing')).toEqual({ verdict: 'dead', error: 'no such event' })
})

test('an event without an attempt left, whose last one never settled, goes dead and says lost', async () => {
  const key = await bench.record()
  await claimFor(key, 1)
  await lapse(key)
  let ran = false
  const { process } = processor({ '*': () => void (ran = true) }, { maxAttempts: 1 })
  expect(await process(key)).toEqual({ verdict: 'dead', error: 'no attempts left' })
  expect(ran).toBe(false)
  expect(await bench.row(key)).toMatchObject({ state: 'dead', attempts: 1 })
  expect(await bench.attempts(key)).toMatchObject([{ attempt: 1, outcome: 'lost' }])
})

test('rule 5: a worker frozen between its claim and its read does not take over a stranger’s attempt', async () => {
  const key = await bench.record()
  const frozen = Promise.withResolvers<void>()
  const atRead = Promise.withResolvers<void>()
  // Everything after the claim waits, as in a process that was stopped and continued.
  const slow: Ledger = {
    ...bench.ledger,
    execute: (async (...args: Parameters<Ledger['execute']>) => {
      if (/^\s*SELECT/.test(args[0] as unknown as string)) {
        atRead.resolve()
        await frozen.promise
      }
      return bench.ledger.execute(...args)
    }) as Ledger['execute'],
  }
  let startedByA = false
  const a = processor({ '*': () => void (startedByA = true) }, { leaseMs: 1 }, slow)
  const verdictOfA = a.process(key)
  await atRead.promise
  await lapse(key)

  const finishB = Promise.withResolvers<void>()
  const bRuns = Promise.withResolvers<void>()
  const b = processor({
    '*': () => {
      bRuns.resolve()
      return finishB.promise
    },
  })
  const verdictOfB = b.process(key)
  await bRuns.promise
  frozen.resolve()
  expect(await verdictOfA).toMatchObject({ verdict: 'delay' })
  expect(startedByA).toBe(false)
  finishB.resolve()
  expect(await verdictOfB).toEqual({ verdict: 'completed' })
  expect(b.settled).toMatchObject([{ outcome: 'done', attempt: 2 }])
})

test('rule 9: a dead event that the queue hands out stays dead and does not run', async () => {
  const key = await bench.record()
  const token = Buffer.alloc(16, 9)
  await claimFor(key, 30_000, token)
  await settleDead(bench.ledger, { dedupeKey: key, token, attempt: 1 }, 'given up')
  let ran = false
  const { process } = processor({ '*': () => void (ran = true) })
  expect(await process(key)).toEqual({ verdict: 'dead', error: 'dead; replay it' })
  expect(ran).toBe(false)
  expect(await bench.row(key)).toMatchObject({ state: 'dead', last_error: 'given up' })
  expect(await bench.rows('SELECT * FROM sume_replays WHERE dedupe_key = ?', [key])).toEqual([])

  await replayEvents(bench.ledger, 'replay', [key], { by: 'a person', why: null })
  expect(await process(key)).toEqual({ verdict: 'completed' })
  expect(ran).toBe(true)
})

test('rule 11: at the time limit the attempt is settled, although the follow-up heeds no signal', async () => {
  const key = await bench.record()
  let signal: AbortSignal | undefined
  const { process, settled } = processor(
    {
      '*': (_event, ctx) => {
        signal = ctx.signal
        return new Promise(() => undefined)
      },
    },
    // Shorter than a third of the limit: without an end, the renewals would go on for ever.
    { timeoutMs: 400, leaseMs: 300 },
  )
  const verdict = await process(key)
  expect(verdict).toMatchObject({
    verdict: 'retry',
    error: 'the follow-up took longer than 400 ms',
  })
  expect(signal?.aborted).toBe(true)
  expect(settled).toMatchObject([{ outcome: 'retry', attempt: 1 }])
  expect(await bench.row(key)).toMatchObject({ state: 'claimed', leased_until: null })
})

test('a complete that comes after the time limit commits nothing', async () => {
  const key = await bench.record()
  const goOn = Promise.withResolvers<void>()
  const late = Promise.withResolvers<unknown>()
  const { process } = processor(
    {
      '*': async (event, ctx) => {
        await goOn.promise
        await ctx
          .complete((tx) => tx.execute('INSERT INTO effects (id) VALUES (?)', [event.dedupeKey]))
          .then(late.resolve, late.resolve)
      },
    },
    { timeoutMs: 200 },
  )
  expect(await process(key)).toMatchObject({ verdict: 'retry' })
  goOn.resolve()
  expect(await late.promise).toMatchObject({ code: 'LEASE_LOST' })
  expect(await bench.rows('SELECT * FROM effects WHERE id = ?', [key])).toEqual([])
  expect(await bench.row(key)).toMatchObject({ state: 'claimed' })
})

test('a complete under way at the time limit may still commit, and then the event is done', async () => {
  const key = await bench.record()
  const { process, settled } = processor(
    {
      '*': (event, ctx) =>
        ctx.complete(async (tx) => {
          await tx.execute('INSERT INTO effects (id) VALUES (?)', [event.dedupeKey])
          await tx.query('SELECT SLEEP(0.6)')
        }),
    },
    { timeoutMs: 200 },
  )
  expect(await process(key)).toEqual({ verdict: 'completed' })
  expect(settled).toMatchObject([{ outcome: 'done' }])
  expect(await bench.row(key)).toMatchObject({ state: 'done', attempts: 1 })
  expect(await bench.rows('SELECT * FROM effects WHERE id = ?', [key])).toHaveLength(1)
})

test('a follow-up that takes longer than a lease keeps it by renewals', async () => {
  const key = await bench.record()
  const finish = Promise.withResolvers<void>()
  const runs: number[] = []
  const { process, lost } = processor(
    {
      '*': (_event, ctx) => {
        runs.push(ctx.attempt)
        return finish.promise
      },
    },
    { leaseMs: 900 },
  )
  const verdict = process(key)
  const first = await waitFor('a lease', async () => (await bench.row(key)).leased_until)
  await waitFor('a lease renewed twice over', async () => {
    const { leased_until } = await bench.row(key)
    return leased_until !== null && leased_until.getTime() > first.getTime() + 1000
  })
  expect(await process(key)).toMatchObject({ verdict: 'delay' })
  finish.resolve()
  expect(await verdict).toEqual({ verdict: 'completed' })
  expect(runs).toEqual([1])
  expect(lost).toEqual([])
})

test('a follow-up whose lease went to another attempt is told by its signal and settles nothing', async () => {
  const key = await bench.record()
  const started = Promise.withResolvers<AbortSignal>()
  const { process, lost, settled } = processor(
    {
      '*': (_event, ctx) => {
        started.resolve(ctx.signal)
        return new Promise(() => undefined)
      },
    },
    { leaseMs: 600 },
  )
  const verdict = process(key)
  const signal = await started.promise
  const other = Buffer.alloc(16, 3)
  await bench.rows(
    'UPDATE sume_events SET lease_token = ?, leased_until = NOW(3) + INTERVAL 20 SECOND WHERE dedupe_key = ?',
    [other, key],
  )
  expect(await verdict).toMatchObject({ verdict: 'delay' })
  expect(signal.aborted).toBe(true)
  expect(lost).toMatchObject([{ dedupeKey: key, attempt: 1 }])
  expect(settled).toMatchObject([{ outcome: 'lost' }])
  const [row] = await bench.rows('SELECT lease_token FROM sume_events WHERE dedupe_key = ?', [key])
  expect(row?.['lease_token']).toEqual(other)
})

test('the signal aborts when the process is about to end', async () => {
  const key = await bench.record()
  const started = Promise.withResolvers<void>()
  const { process, stopping } = processor({
    '*': (_event, ctx) => {
      started.resolve()
      return new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error))
      })
    },
  })
  const verdict = process(key)
  await started.promise
  stopping.abort(new Error('shutting down'))
  expect(await verdict).toMatchObject({ verdict: 'retry', error: 'shutting down' })
})
