import { recordDelivery } from '@sume-inbox/shared/ledger'
import { parseEnvelope } from '@sume-inbox/shared/envelope'
import { jobId, openProducer } from '@sume-inbox/shared/queues'
import { jobBody, servers, waitFor } from '@sume-inbox/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { atRest, violations } from './invariants.ts'
import { openSystem, type System } from './system.ts'

let system: System
let accepted: Map<string, { firsts: number }>
let producer: ReturnType<typeof openProducer>
beforeEach(async () => {
  system = await openSystem(servers(), { ENQUEUE_GRACE_MS: '100', SWEEP_EVERY_MS: '200' })
  accepted = new Map()
  const { REDIS_URL: redisUrl = '', QUEUE_PREFIX: prefix = '' } = system.env
  producer = openProducer({ redisUrl, prefix, maxAttempts: 10, onError: () => undefined })
})
afterEach(async () => {
  await producer.close()
  await system[Symbol.asyncDispose]()
})

/** Takes in an event as the receiver does, without its process. */
async function add(fields: Parameters<typeof jobBody>[0] = {}): Promise<string> {
  const { body } = jobBody(fields)
  const parsed = parseEnvelope(body)
  if (!parsed.readable) throw new Error(parsed.reason)
  const { envelope } = parsed
  const { dedupeKey, status } = envelope
  await recordDelivery(system.database.ledger, {
    envelope,
    raw: body,
    source: 'webhook',
    graceMs: 100,
  })
  accepted.set(dedupeKey, { firsts: 1 })
  await producer.enqueue({ dedupeKey, status })
  return dedupeKey
}

test('10,000 events wait for slow workers: the sweeper puts none of them back, and none runs twice', async () => {
  const events = 10_000
  for (let added = 0; added < events; added += 100) {
    await Promise.all(Array.from({ length: 100 }, () => add({ do: 'take a while', ms: 50 })))
  }
  const workers = [await system.start('worker'), await system.start('worker')]
  await waitFor('half to be done', () => system.runs.started().length > events / 2, 120_000)
  // All of them have been due since long ago, and every worker sweeps five times a second.
  expect(await system.swept()).toBe(0)
  await atRest(system, 120_000)
  expect(await system.swept()).toBe(0)
  expect(new Set(system.runs.started().map(({ pid }) => pid)).size).toBe(workers.length)
  expect(system.runs.started()).toHaveLength(events)
  expect(await violations(system, accepted)).toEqual([])
})

/** What becomes of a job that has lost its way. */
const LOST = [
  {
    state: 'missing',
    lose: async (key: string) => void (await system.queue.remove(jobId(key))),
  },
  {
    state: 'half there (a hash that no list knows)',
    lose: async (key: string) => {
      await system.redis.zrem(system.queue.toKey('prioritized'), jobId(key))
    },
  },
  {
    state: 'failed',
    lose: (key: string) => moveTo('failed', key),
  },
  {
    state: 'completed',
    lose: (key: string) => moveTo('completed', key),
  },
]

async function moveTo(set: 'failed' | 'completed', key: string): Promise<void> {
  await system.redis.zrem(system.queue.toKey('prioritized'), jobId(key))
  await system.redis.zadd(system.queue.toKey(set), Date.now(), jobId(key))
}

test.each(LOST)(
  'a claimed row whose job is $state is done by a sweep, and once',
  async ({ lose }) => {
    const keys = [await add(), await add()]
    for (const key of keys) await lose(key)
    const worker = await system.start('worker')
    for (const key of keys) await system.reached(key, 'done')
    await atRest(system, 60_000)
    expect(await system.swept()).toBe(keys.length)
    expect(system.runs.started().map(({ pid }) => pid)).toEqual(keys.map(() => worker.pid()))
    expect(await violations(system, accepted)).toEqual([])
  },
)

test('three sweepers over 1,000 lost events while new ones come: each is put back once', async () => {
  for (let added = 0; added < 1000; added += 100) {
    await Promise.all(Array.from({ length: 100 }, () => add()))
  }
  await system.queue.obliterate({ force: true })
  const workers = system.start('worker')
  const others = Promise.all([system.start('worker'), system.start('worker')])
  for (let added = 0; added < 300; added += 10) {
    await Promise.all(Array.from({ length: 10 }, () => add()))
  }
  await Promise.all([workers, others])
  await atRest(system, 60_000)
  expect(system.runs.started()).toHaveLength(1300)
  expect(await system.swept()).toBe(1000)
  expect(await violations(system, accepted)).toEqual([])
})
