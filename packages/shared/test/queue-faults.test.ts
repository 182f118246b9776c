import { openProducer, openRestorer } from '@sume-inbox/shared/queues'
import { openServices, type Services } from '@sume-inbox/services'
import { testPrefix } from '@sume-inbox/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { error, ok, openQueue } from './queue-fixture.ts'

// A Redis of this file's own: it is stopped, killed, frozen and filled up.
let services: Services
let prefix: string
beforeAll(async () => {
  services = await openServices({ private: true })
})
afterAll(() => services.close())
beforeEach(() => {
  prefix = testPrefix()
})
afterEach(() => server().start())

function server() {
  if (services.redis === undefined) throw new Error('the Redis of this lane cannot be stopped')
  return services.redis
}

const options = () => ({
  redisUrl: services.redisUrl,
  prefix,
  maxAttempts: 5,
  onError: () => undefined,
})
function openTestProducer() {
  const producer = openProducer(options())
  onTestFinished(() => producer.close())
  return producer
}
function openTestRestorer() {
  const restorer = openRestorer(options())
  onTestFinished(() => restorer.close())
  return restorer
}
function openTestQueue() {
  const fixture = openQueue(services.redisUrl, prefix)
  onTestFinished(() => fixture.close())
  return fixture
}

/** Whether the promise was kept, and how long that took. */
async function outcome(promise: Promise<unknown>): Promise<{ ok: boolean; ms: number }> {
  const start = performance.now()
  const ok = await promise.then(
    () => true,
    () => false,
  )
  return { ok, ms: performance.now() - start }
}

const PATIENCE_MS = 1300

const full = {
  begin: async () => {
    const { redis } = openTestQueue()
    await redis.config('SET', 'maxmemory', '1')
  },
  end: async () => {
    const { redis } = openTestQueue()
    await redis.config('SET', 'maxmemory', '0')
  },
}

test.each<[string, () => unknown, () => unknown]>([
  ['stopped', () => server().stop(), () => server().start()],
  ['killed', () => server().kill(), () => server().start()],
  ['frozen', () => server().freeze(), () => server().thaw()],
  ['full', full.begin, full.end],
])(
  'Redis %s: a delivery waits a second at most, the next ones not at all, and it recovers',
  async (_what, begin, end) => {
    const producer = openTestProducer()
    await producer.enqueue(ok('before'))
    await begin()
    const first = await outcome(producer.enqueue(ok('during')))
    expect(first.ok).toBe(false)
    expect(first.ms).toBeLessThan(PATIENCE_MS)
    expect(producer.isUp()).toBe(false)
    const second = await outcome(producer.enqueue(ok('during too')))
    expect(second.ok).toBe(false)
    expect(second.ms).toBeLessThan(100)
    await end()
    await expect
      .poll(async () => (await outcome(producer.enqueue(ok('after')))).ok, { timeout: 10_000 })
      .toBe(true)
    expect(producer.isUp()).toBe(true)
  },
)

test('Redis down at the start: nothing waits for longer than a second, and it recovers', async () => {
  await server().stop()
  const producer = openTestProducer()
  for (let i = 0; i < 3; i++) {
    const { ok: added, ms } = await outcome(producer.enqueue(ok('during')))
    expect(added).toBe(false)
    expect(ms).toBeLessThan(PATIENCE_MS)
  }
  await server().start()
  await expect
    .poll(async () => (await outcome(producer.enqueue(ok('after')))).ok, { timeout: 10_000 })
    .toBe(true)
})

test('Redis frozen at the start: the same', async () => {
  await server().freeze()
  const producer = openTestProducer()
  const { ok: added, ms } = await outcome(producer.enqueue(ok('during')))
  expect(added).toBe(false)
  expect(ms).toBeLessThan(PATIENCE_MS)
  await server().thaw()
  await expect
    .poll(async () => (await outcome(producer.enqueue(ok('after')))).ok, { timeout: 10_000 })
    .toBe(true)
})

test('closing a producer does not wait for a Redis that is away', async () => {
  const producer = openProducer(options())
  await producer.enqueue(ok('before'))
  await server().freeze()
  const { ms } = await outcome(producer.close())
  await server().thaw()
  expect(ms).toBeLessThan(1000)
})

test.each<[string, () => unknown, () => unknown]>([
  ['stopped', () => server().stop(), () => server().start()],
  ['frozen', () => server().freeze(), () => server().thaw()],
])('Redis %s: a restore fails in time, and the next one goes on', async (_what, begin, end) => {
  const restorer = openTestRestorer()
  await restorer.restore([ok('before')])
  await begin()
  const { ok: restored, ms } = await outcome(restorer.restore([ok('job_1'), error('job_2')]))
  expect(restored).toBe(false)
  expect(ms).toBeLessThan(7000)
  await end()
  await expect
    .poll(async () => (await outcome(restorer.restore([ok('job_1'), error('job_2')]))).ok, {
      timeout: 15_000,
    })
    .toBe(true)
  expect(await restorer.restore([ok('job_1'), error('job_2')])).toEqual([])
  expect(await openTestQueue().queue.getJobCountByTypes('prioritized', 'waiting')).toBe(3)
})

test('a wait list of ten thousand is not scanned for jobs that are in a sorted set or locked', async () => {
  const { queue, redis, ...fixture } = openTestQueue()
  const backlog = Array.from({ length: 10_000 }, (_, i) => error(`backlog_${i}`))
  const restorer = openTestRestorer()
  for (let i = 0; i < backlog.length; i += 1000) await restorer.restore(backlog.slice(i, i + 1000))
  const locked = await fixture.take()
  const placed = Array.from({ length: 100 }, (_, i) => ok(`job_${i}`))
  await restorer.restore(placed)
  const scans = async () => {
    const [, calls = '0'] = /cmdstat_lpos:calls=(\d+)/.exec(await redis.info('commandstats')) ?? []
    return Number(calls)
  }
  const before = await scans()
  const { dedupeKey } = locked.data as { dedupeKey: string }
  expect(await restorer.restore([...placed, error(dedupeKey)])).toEqual([])
  expect(await scans()).toBe(before)
  // One that is in the list has to be looked for there, which shows that the count counts.
  expect(await restorer.restore([error('backlog_9999')])).toEqual([])
  expect(await scans()).toBeGreaterThan(before)
  await queue.obliterate({ force: true })
})
