import { join } from 'node:path'
import { type AppProcess, startApp, waitFor } from '@sume-inbox/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Bench, openBench } from './harness.ts'

let bench: Bench
let processes: AppProcess[]
beforeEach(async () => {
  bench = await openBench()
  processes = []
})
afterEach(async () => {
  for (const process of processes) await process[Symbol.asyncDispose]()
  await bench[Symbol.asyncDispose]()
})

const start = async (settings: Record<string, string> = {}) => {
  const process = await startApp('worker', {
    DATABASE_URL: bench.databaseUrl,
    REDIS_URL: bench.redisUrl,
    QUEUE_PREFIX: bench.prefix,
    FOLLOW_UPS: join(import.meta.dirname, 'fixtures/follow-ups.ts'),
    LEASE_MS: '600',
    BACKOFF_MS: '20',
    ENQUEUE_GRACE_MS: '300',
    SWEEP_EVERY_MS: '200',
    ...settings,
  })
  processes.push(process)
  return process
}
const ended = (process: AppProcess) =>
  waitFor('the process to end', () => process.child.exitCode ?? process.child.signalCode)
const runs = (key: string) => bench.rows('SELECT * FROM runs WHERE id = ?', [key])
const effects = (key: string) => bench.rows('SELECT * FROM effects WHERE id = ?', [key])
/** What a crash leaves after two of BullMQ's stalled checks, without the half minute that they take. */
const runOutLocks = async () => {
  const ids = await bench.redis.lrange(bench.queue.toKey('active'), 0, -1)
  for (const id of ids) {
    await bench.redis.del(`${bench.queue.toKey(id)}:lock`)
    await bench.redis.sadd(bench.queue.toKey('stalled'), id)
  }
  await bench.redis.del(bench.queue.toKey('stalled-check'))
}

test('complete, then a crash: the write and done are both there, and nothing runs again', async () => {
  const first = await start()
  const key = await bench.add({ do: 'complete, then exit' })
  expect(await ended(first)).toBe(9)
  expect(await bench.row(key)).toMatchObject({ state: 'done', attempts: 1 })
  expect(await effects(key)).toMatchObject([{ times: 1 }])

  await runOutLocks()
  await start()
  await waitFor('the job to be handed out again and complete', async () => {
    return (await bench.jobState(key)) === 'completed'
  })
  expect(await runs(key)).toHaveLength(1)
  expect(await effects(key)).toMatchObject([{ times: 1 }])
})

test('a crash inside complete: neither the write nor done, and both once after the next attempt', async () => {
  const first = await start()
  const key = await bench.add({ do: 'exit inside complete, once' })
  expect(await ended(first)).toBe(9)
  expect(await bench.row(key)).toMatchObject({ state: 'claimed', attempts: 1 })
  expect(await effects(key)).toEqual([])

  await runOutLocks()
  await start()
  expect(await bench.reached(key, 'done')).toMatchObject({ attempts: 2 })
  expect(await effects(key)).toMatchObject([{ times: 1 }])
})

test('a worker killed in the middle of an attempt: the attempt is lost, the event is done by another', async () => {
  const first = await start()
  const key = await bench.add({ do: 'hang, once' })
  await waitFor('the follow-up to run', async () => (await runs(key)).length === 1)
  expect(await first.stop('SIGKILL')).toBe('SIGKILL')

  await runOutLocks()
  const second = await start()
  expect(await bench.reached(key, 'done')).toMatchObject({ attempts: 2 })
  expect(await bench.attempts(key)).toMatchObject([
    { attempt: 1, outcome: 'lost', worker: expect.stringMatching(`:${first.pid}$`) as string },
  ])
  expect((await runs(key)).map((run) => run['pid'])).toEqual([first.pid, second.pid])
})

test('a follow-up that takes its process down every time ends dead by the row’s own count', async () => {
  const key = await bench.add({ do: 'exit' })
  for (const _attempt of [1, 2]) {
    const process = await start({ MAX_ATTEMPTS: '2' })
    expect(await ended(process)).toBe(9)
    await runOutLocks()
  }
  await start({ MAX_ATTEMPTS: '2' })
  expect(await bench.reached(key, 'dead')).toMatchObject({ attempts: 2 })
  expect(await runs(key)).toHaveLength(2)
  expect((await bench.attempts(key)).map((attempt) => attempt['outcome'])).toEqual(['lost', 'lost'])
})

test('rule 13: an event that never got into the queue is done by the worker’s own sweeps', async () => {
  const key = await bench.record({ graceMs: 0 })
  await start()
  expect(await bench.reached(key, 'done')).toMatchObject({ attempts: 1 })
})

test('two workers share a thousand events, and each follow-up runs once', async () => {
  const keys: string[] = []
  while (keys.length < 1000) {
    keys.push(...(await Promise.all(Array.from({ length: 50 }, () => bench.add()))))
  }
  const both = await Promise.all([start(), start()])
  await waitFor(
    'all events to be done',
    async () => {
      const [left] = await bench.rows("SELECT COUNT(*) AS n FROM sume_events WHERE state <> 'done'")
      return Number(left?.['n']) === 0
    },
    60_000,
  )
  const counts = 'SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS ids'
  expect(await bench.rows(`${counts} FROM runs`)).toMatchObject([{ n: 1000, ids: 1000 }])
  const written = await bench.rows(`${counts}, MAX(times) AS most FROM effects`)
  expect(written).toMatchObject([{ n: 1000, ids: 1000, most: 1 }])
  const sharers = await bench.rows('SELECT DISTINCT pid FROM runs')
  expect(new Set(sharers.map(({ pid }) => pid))).toEqual(new Set(both.map(({ pid }) => pid)))
}, 120_000)

test('on SIGTERM a running follow-up is finished first, then the process exits 0', async () => {
  const worker = await start()
  const key = await bench.add({ do: 'take a second' })
  await waitFor('the follow-up to run', async () => (await runs(key)).length === 1)
  expect(await worker.stop()).toBe(0)
  expect(await bench.row(key)).toMatchObject({ state: 'done', attempts: 1 })
  expect(await bench.jobState(key)).toBe('completed')
})

test('on SIGTERM a follow-up that never ends is left to its lease, and the exit is 0 within the grace', async () => {
  const worker = await start({ STOP_GRACE_MS: '2000' })
  const key = await bench.add({ do: 'hang' })
  await waitFor('the follow-up to run', async () => (await runs(key)).length === 1)
  const began = performance.now()
  expect(await worker.stop()).toBe(0)
  expect(performance.now() - began).toBeLessThan(2500)
  expect(await bench.row(key)).toMatchObject({ state: 'claimed', attempts: 1 })
})

test('a second signal leaves at once, and the event to its lease', async () => {
  const worker = await start({ STOP_GRACE_MS: '60000' })
  const key = await bench.add({ do: 'hang' })
  await waitFor('the follow-up to run', async () => (await runs(key)).length === 1)
  worker.child.kill('SIGTERM')
  await waitFor('intake to stop', async () => {
    const ready = await fetch(`${worker.internalUrl}/health/ready`)
    return ready.status === 503
  })
  expect(await worker.stop('SIGINT')).not.toBe(0)
  expect(await bench.row(key)).toMatchObject({ state: 'claimed', attempts: 1 })
}, 30_000)

test('it says live, ready and not ready on its internal port', async () => {
  const worker = await start()
  const ask = async (path: string) => {
    const response = await fetch(`${worker.internalUrl}/health/${path}`)
    return { status: response.status, body: await response.json() }
  }
  expect(await ask('live')).toMatchObject({ status: 200 })
  expect(await ask('ready')).toEqual({ status: 200, body: { status: 'ready' } })
  await bench.rows('RENAME TABLE sume_migrations TO put_aside')
  await waitFor('not ready', async () => (await ask('ready')).status === 503)
  expect((await ask('ready')).body).toMatchObject({ because: 'the database is not migrated' })
})
