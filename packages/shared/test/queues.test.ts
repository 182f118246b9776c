import {
  jobId,
  openProducer,
  openRestorer,
  type Producer,
  type Restorer,
} from '@sume-inbox/shared/queues'
import { servers, testPrefix } from '@sume-inbox/testing'
import { UnrecoverableError } from 'bullmq'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { error, ok, openQueue, type QueueFixture } from './queue-fixture.ts'

let fixture: QueueFixture
let producer: Producer
let restorer: Restorer
beforeEach(() => {
  const { redisUrl } = servers()
  const options = { redisUrl, prefix: testPrefix(), maxAttempts: 5, onError: () => undefined }
  fixture = openQueue(redisUrl, options.prefix)
  producer = openProducer(options)
  restorer = openRestorer(options)
})
afterEach(async () => {
  await producer.close()
  await restorer.close()
  await fixture.queue.obliterate({ force: true })
  await fixture.close()
})

const takenKey = async () => ((await fixture.take()).data as { dedupeKey: string }).dedupeKey
const stateOf = (key: string) => fixture.queue.getJobState(jobId(key))

test('a job carries the dedupe key alone, under an id made of it', async () => {
  await producer.enqueue(ok('job_1'))
  const job = await fixture.queue.getJob(jobId('job_1'))
  expect(job?.data).toEqual({ dedupeKey: 'job_1' })
  expect(job?.opts).toMatchObject({ attempts: 5, backoff: { type: 'ledger' }, priority: 10 })
  expect(producer.isUp()).toBe(true)
})

test('an event that has a job already gets no second one', async () => {
  for (let i = 0; i < 3; i++) await producer.enqueue(ok('job_1'))
  expect(await fixture.queue.getJobCountByTypes('prioritized', 'waiting', 'delayed')).toBe(1)
})

test('hundreds of deliveries right after the start are all added, with no warning of a leak', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error) => warnings.push(warning)
  process.on('warning', listen)
  await Promise.all(Array.from({ length: 300 }, (_, i) => producer.enqueue(ok(`job_${i}`))))
  await new Promise(setImmediate)
  process.off('warning', listen)
  expect(warnings).toEqual([])
  expect(await fixture.queue.getPrioritizedCount()).toBe(300)
})

test('ERROR events come before OK ones, and in order, whether enqueued or restored', async () => {
  await producer.enqueue(ok('ok-1'))
  await producer.enqueue(error('error-1'))
  await restorer.restore([ok('ok-2'), error('error-2'), ok('ok-3'), error('error-3')])
  const order: string[] = []
  for (let i = 0; i < 6; i++) order.push(await takenKey())
  expect(order).toEqual(['error-1', 'error-2', 'error-3', 'ok-1', 'ok-2', 'ok-3'])
})

const brokenStates: Record<string, () => Promise<unknown>> = {
  missing: () => Promise.resolve(),
  failed: async () => {
    await producer.enqueue(ok('job_1'))
    let over = false
    await fixture.work(
      () => {
        over = true
        throw new UnrecoverableError('no')
      },
      () => over,
    )
    expect(await stateOf('job_1')).toBe('failed')
  },
  completed: async () => {
    await producer.enqueue(ok('job_1'))
    let over = false
    await fixture.work(
      async () => {
        over = true
      },
      () => over,
    )
    expect(await stateOf('job_1')).toBe('completed')
  },
  orphan: async () => {
    await producer.enqueue(ok('job_1'))
    await fixture.redis.zrem(fixture.queue.toKey('prioritized'), jobId('job_1'))
    expect(await stateOf('job_1')).toBe('unknown')
  },
}

test.each(Object.entries(brokenStates))('a %s job is put back, and runs', async (lost, bring) => {
  await bring()
  expect(await restorer.restore([ok('job_1')])).toEqual([{ dedupeKey: 'job_1', lost }])
  expect(await stateOf('job_1')).toBe('prioritized')
  expect(await takenKey()).toBe('job_1')
})

const aliveStates: Record<string, () => Promise<unknown>> = {
  waiting: () => producer.enqueue(error('job_1')),
  prioritized: () => producer.enqueue(ok('job_1')),
  'paused waiting': async () => {
    await producer.enqueue(error('job_1'))
    await fixture.queue.pause()
  },
  'waiting in a paused queue that it came to later': async () => {
    await fixture.queue.pause()
    await producer.enqueue(error('job_1'))
  },
  delayed: async () => {
    await producer.enqueue(ok('job_1'))
    const job = await fixture.take()
    await job.moveToDelayed(Date.now() + 60_000, 'a worker')
  },
  active: async () => {
    await producer.enqueue(ok('job_1'))
    await fixture.take()
  },
  'active without its lock': async () => {
    await producer.enqueue(ok('job_1'))
    await fixture.take()
    await fixture.redis.del(`${fixture.queue.toKey(jobId('job_1'))}:lock`)
  },
}

test.each(Object.entries(aliveStates))('a job that is %s is left alone', async (_state, bring) => {
  await bring()
  const before = await fixture.redis.hgetall(fixture.queue.toKey(jobId('job_1')))
  const counts = await fixture.queue.getJobCounts()
  expect(before).toMatchObject({ name: expect.any(String) })
  expect(await restorer.restore([ok('job_1')])).toEqual([])
  expect(await fixture.redis.hgetall(fixture.queue.toKey(jobId('job_1')))).toEqual(before)
  expect(await fixture.queue.getJobCounts()).toEqual(counts)
})

test('a job that somebody runs is not removed, even when the look took it for lost', async () => {
  await producer.enqueue(ok('job_1'))
  await fixture.take()
  await fixture.redis.zadd(fixture.queue.toKey('failed'), 1, jobId('job_1'))
  expect(await restorer.restore([ok('job_1')])).toEqual([])
  expect(await stateOf('job_1')).not.toBe('unknown')
})

test('a thousand events are looked at and put back in one go', async () => {
  const keys = Array.from({ length: 1000 }, (_, i) => `job_${i}`)
  for (const key of keys.slice(0, 10)) await producer.enqueue(ok(key))
  const restored = await restorer.restore(keys.map((key, i) => (i % 2 ? error(key) : ok(key))))
  expect(restored.map(({ dedupeKey }) => dedupeKey)).toEqual(keys.slice(10))
  expect(await fixture.queue.getJobCountByTypes('prioritized', 'waiting')).toBe(1000)
  expect(await restorer.restore(keys.map(ok))).toEqual([])
})

test('no events need no Redis at all', async () => {
  expect(await restorer.restore([])).toEqual([])
})
