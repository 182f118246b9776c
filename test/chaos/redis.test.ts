import { readMetrics, waitFor } from '@sume-inbox/testing'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { atRest, violations } from './invariants.ts'
import { openOwnServers, type OwnServers } from './own-servers.ts'
import { load, makeSender, type Sender } from './sender.ts'
import { openSystem, type System } from './system.ts'

/** Servers of this file's own: what is done to them, is done to the servers themselves. */
let own: OwnServers
beforeAll(async () => {
  own = await openOwnServers()
})
afterAll(() => own.close())

let system: System
let sender: Sender
const startReceivers = async () => {
  const receivers = [await system.start('receiver'), await system.start('receiver')]
  sender = makeSender(() => receivers.map((receiver) => receiver.url()))
}
beforeEach(async () => {
  system = await openSystem(own)
  await startReceivers()
})
afterEach(() => system[Symbol.asyncDispose]())

/**
 * Deliveries at a steady pace while something happens to Redis.
 *
 * @returns what is wrong afterwards.
 */
async function underLoad(fault: () => Promise<unknown>): Promise<string[]> {
  let over = false
  const loaded = load(sender, { callers: 20, perSecond: 50, more: () => !over })
  await waitFor('the load to be under way', () => sender.accepted.size > 50)
  await fault()
  over = true
  await loaded
  return wrongAtRest()
}

/** Every event is done or dead, once, and every delivery was answered with a 2xx at its first try. */
async function wrongAtRest(): Promise<string[]> {
  await atRest(system, 120_000)
  const refused = [...sender.tries].filter(([status]) => status !== '200')
  return [
    ...(await violations(system, sender.accepted)),
    ...refused.map(([status, times]) => `${times} tries ended with ${status}`),
  ]
}

test('flushed with 1,000 claimed rows: the sweeper puts every one back, and each follow-up runs once', async () => {
  await load(sender, { callers: 20, more: (sent) => sent < 1000 })
  await system.redis.flushall()
  const worker = await system.start('worker')
  expect(await wrongAtRest()).toEqual([])
  expect(system.runs.started()).toHaveLength(1000)
  const metrics = await readMetrics(worker.internalUrl())
  expect(metrics.get('sume_swept_total{lost="missing"}')).toBe(1000)
})

test('stopped for 30 s under load: every delivery is accepted, and done afterwards', async () => {
  await system.start('worker')
  await system.start('worker')
  const wrong = await underLoad(async () => {
    await own.redis.stop()
    await sleep(30_000)
    await own.redis.start()
  })
  expect(wrong).toEqual([])
})

test('frozen for 10 s under load', async () => {
  await system.start('worker')
  await system.start('worker')
  const wrong = await underLoad(async () => {
    await own.redis.freeze()
    await sleep(10_000)
    await own.redis.thaw()
  })
  expect(wrong).toEqual([])
})

test('killed under load: what its last second knew is made up for by the sweeper', async () => {
  await system.start('worker')
  const wrong = await underLoad(async () => {
    await own.redis.kill()
    await own.redis.start()
  })
  expect(wrong).toEqual([])
})

test('out of memory: deliveries are accepted and counted, and done when there is room', async () => {
  await system.start('worker')
  const wrong = await underLoad(async () => {
    await system.redis.config('SET', 'maxmemory', '1')
    await waitFor('a job that Redis did not take to be counted', async () => {
      const counts = await Promise.all(
        system.members
          .filter(({ app }) => app === 'receiver')
          .map(async (receiver) => readMetrics(receiver.internalUrl())),
      )
      return counts.every((metrics) => (metrics.get('sume_enqueue_failures_total') ?? 0) > 20)
    })
    await system.redis.config('SET', 'maxmemory', '0')
  })
  expect(wrong).toEqual([])
})
