import { claimEvent, settleDone, settleRetry } from '@sume-inbox/shared/ledger'
import { jobId, type Restorer } from '@sume-inbox/shared/queues'
import { makeEvents } from '@sume-inbox/shared/telemetry'
import { type Job, UnrecoverableError, Worker } from 'bullmq'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeSweeper } from '../src/services/sweeper.ts'
import { type Bench, openBench } from './harness.ts'

let bench: Bench
beforeEach(async () => {
  bench = await openBench()
})
afterEach(() => bench[Symbol.asyncDispose]())

const sweep = async (restorer: Pick<Restorer, 'restore'> = bench.restorer()) => {
  const events = makeEvents()
  const swept: { dedupeKey: string; lost: string }[] = []
  events.on('event:swept', (said) => swept.push(said))
  const sweeper = makeSweeper({ ledger: bench.ledger, restorer, events }, 5000)
  const report = await sweeper.runOnce(new AbortController().signal)
  return { report, swept }
}
const due = (key: string) =>
  bench.rows('UPDATE sume_events SET due_at = NOW(3) WHERE dedupe_key = ?', [key])

/** Takes one job by hand, as a worker does. */
async function take(): Promise<{ job: Job; token: string; worker: Worker }> {
  const worker = new Worker(bench.queue.name, null, {
    connection: { url: bench.redisUrl },
    prefix: bench.prefix,
  })
  worker.on('error', () => undefined)
  const token = 'taken by the test'
  const job = await worker.getNextJob(token)
  if (job === undefined) throw new Error('there is no job to take')
  return { job, token, worker }
}

test('rule 13: an event whose job is missing is put back', async () => {
  const key = await bench.record({ graceMs: 0 })
  const { report, swept } = await sweep()
  expect(report).toEqual({ due: 1, restored: 1 })
  expect(swept).toEqual([{ dedupeKey: key, lost: 'missing' }])
  expect(await bench.jobState(key)).toBe('prioritized')
  // The next look is an interval later, also for every other sweeper.
  const [left] = await bench.rows(
    'SELECT TIMESTAMPDIFF(SECOND, NOW(3), due_at) AS s FROM sume_events WHERE dedupe_key = ?',
    [key],
  )
  expect(Number(left?.['s'])).toBeGreaterThanOrEqual(3)
})

test('rules 13 and 14: an event whose job is kept as failed is put back', async () => {
  const key = await bench.add()
  const { job, token, worker } = await take()
  await job.moveToFailed(new UnrecoverableError('gave up'), token, false)
  await worker.close()
  await due(key)
  expect(await bench.jobState(key)).toBe('failed')
  expect((await sweep()).swept).toEqual([{ dedupeKey: key, lost: 'failed' }])
  expect(await bench.jobState(key)).toBe('prioritized')
})

test('rules 13 and 14: an event whose job is kept as completed is put back', async () => {
  const key = await bench.add()
  const { job, token, worker } = await take()
  await job.moveToCompleted(null, token, false)
  await worker.close()
  await due(key)
  expect((await sweep()).swept).toEqual([{ dedupeKey: key, lost: 'completed' }])
  expect(await bench.jobState(key)).toBe('prioritized')
})

test('rules 13 and 14: an event whose job is a hash that no list knows is put back', async () => {
  const key = await bench.add()
  await bench.redis.zrem(bench.queue.toKey('prioritized'), jobId(key))
  await due(key)
  expect((await sweep()).swept).toEqual([{ dedupeKey: key, lost: 'orphan' }])
  expect(await bench.jobState(key)).toBe('prioritized')
})

test('jobs that wait, are delayed or run are left alone', async () => {
  const running = await bench.add({ event: 'job.failed', status: 'ERROR' })
  const { worker } = await take()
  const waiting = await bench.add({ event: 'job.failed', status: 'ERROR' })
  const prioritized = await bench.add()
  const delayed = await bench.record()
  await bench.queue.add('OK', { dedupeKey: delayed }, { jobId: jobId(delayed), delay: 60_000 })
  const before = {
    running: 'active',
    waiting: 'waiting',
    prioritized: 'prioritized',
    delayed: 'delayed',
  }
  const states = async () => ({
    running: await bench.jobState(running),
    waiting: await bench.jobState(waiting),
    prioritized: await bench.jobState(prioritized),
    delayed: await bench.jobState(delayed),
  })
  expect(await states()).toEqual(before)
  for (const key of [running, waiting, prioritized, delayed]) await due(key)
  expect((await sweep()).report).toEqual({ due: 4, restored: 0 })
  expect(await states()).toEqual(before)
  await worker.close()
})

test('a job that runs is left alone also when its lock has run out', async () => {
  const key = await bench.add()
  const { job, worker } = await take()
  await bench.redis.del(`${bench.queue.toKey(job.id ?? '')}:lock`)
  await due(key)
  expect((await sweep()).report).toEqual({ due: 1, restored: 0 })
  expect(await bench.jobState(key)).toBe('active')
  await worker.close()
})

test('rule 15: what the queue says never sets an event dead: a run under way can settle', async () => {
  const key = await bench.add()
  const { job, token, worker } = await take()
  await job.moveToFailed(new UnrecoverableError('stalled too often'), token, false)
  await worker.close()
  const lease = Buffer.alloc(16, 5)
  // The last attempt there is, in a process that the queue has given up.
  await bench.rows('UPDATE sume_events SET attempts = 9 WHERE dedupe_key = ?', [key])
  await claimEvent(bench.ledger, {
    dedupeKey: key,
    token: lease,
    leaseMs: 30_000,
    maxAttempts: 10,
    worker: 'frozen:1',
  })
  await due(key)
  expect((await sweep()).report).toEqual({ due: 1, restored: 1 })
  expect(await bench.row(key)).toMatchObject({ state: 'claimed', attempts: 10 })
  const settled = await settleDone(bench.ledger, { dedupeKey: key, token: lease, attempt: 10 })
  expect(settled).toBe(true)
})

test('more than a batch is taken in one run, ERROR first, and the attempts stay as they are', async () => {
  const keys = await Promise.all(
    Array.from({ length: 130 }, (_, i) =>
      bench.record(
        i % 13 === 0 ? { event: 'job.failed', status: 'ERROR', graceMs: 0 } : { graceMs: 0 },
      ),
    ),
  )
  const { report, swept } = await sweep()
  expect(report).toEqual({ due: 130, restored: 130 })
  const statuses = await Promise.all(
    swept.slice(0, 10).map(async ({ dedupeKey }) => (await bench.row(dedupeKey)).status),
  )
  expect(statuses).toEqual(Array.from({ length: 10 }, () => 'ERROR'))
  expect(await bench.queue.getPrioritizedCount()).toBe(120)
  expect(await bench.queue.getWaitingCount()).toBe(10)
  expect((await bench.row(keys[0] ?? '')).attempts).toBe(0)
  expect((await sweep()).report).toEqual({ due: 0, restored: 0 })
})

test('done, dead and not yet due events are not taken', async () => {
  const waits = await bench.record({ graceMs: 60_000 })
  const done = await bench.record({ graceMs: 0 })
  const later = await bench.record({ graceMs: 0 })
  const token = Buffer.alloc(16, 6)
  for (const dedupeKey of [done, later]) {
    await claimEvent(bench.ledger, {
      dedupeKey,
      token,
      leaseMs: 1000,
      maxAttempts: 10,
      worker: 'w:1',
    })
  }
  await settleDone(bench.ledger, { dedupeKey: done, token, attempt: 1 })
  await settleRetry(
    bench.ledger,
    { dedupeKey: later, token, attempt: 1 },
    { error: 'no', backoffMs: 60_000, graceMs: 1000 },
  )
  await due(done)
  expect((await sweep()).report).toEqual({ due: 0, restored: 0 })
  expect(await bench.jobState(waits)).toBe('unknown')
})

test('an event that is settled while the sweeper looks for its job has lost nothing', async () => {
  const keys = [await bench.record({ graceMs: 0 }), await bench.record({ graceMs: 0 })]
  const restorer: Pick<Restorer, 'restore'> = {
    restore: (events, stillWanted) =>
      bench.restorer().restore(events, async (lost) => {
        expect(lost.toSorted()).toEqual(keys.toSorted())
        await bench.rows(
          "UPDATE sume_events SET state = 'done', done_at = NOW(3) WHERE dedupe_key = ?",
          [keys[0] ?? ''],
        )
        return (await stillWanted?.(lost)) ?? new Set(lost)
      }),
  }
  const { report, swept } = await sweep(restorer)
  expect(swept).toEqual([{ dedupeKey: keys[1], lost: 'missing' }])
  expect(report).toEqual({ due: 2, restored: 1 })
  expect(await bench.jobState(keys[0] ?? '')).toBe('unknown')
})
