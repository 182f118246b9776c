import { jobId } from '@sume-inbox/shared/queues'
import { deliver, jobBody, servers } from '@sume-inbox/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { atRest, violations } from './invariants.ts'
import type { Member } from './member.ts'
import { makeSender, type Sender } from './sender.ts'
import { openSystem, type System } from './system.ts'

let system: System
let receiver: Member
let sender: Sender
beforeEach(async () => {
  system = await openSystem(servers(), { ENQUEUE_GRACE_MS: '1000', SWEEP_EVERY_MS: '200' })
  receiver = await system.start('receiver')
  sender = makeSender(() => [receiver.url()])
  // Its connections are open, and its statements are prepared.
  await sender.send()
})
afterEach(() => system[Symbol.asyncDispose]())

/** One delivery whose receiver does not live to answer it. */
const unanswered = async (body: Buffer) => {
  await expect(deliver(receiver.url(), body)).rejects.toThrow('fetch failed')
}

test('killed between commit and enqueue: done once, although nobody delivers it again', async () => {
  const { jobId: key, body } = jobBody()
  const enqueue = receiver.redis.hold(jobId(key))
  const refused = unanswered(body)
  await enqueue.reached
  await receiver.kill()
  await refused
  expect(await system.row(key)).toMatchObject({ state: 'claimed', deliveries: 1 })
  expect(await system.jobState(key)).toBe('unknown')

  await system.start('worker')
  await system.reached(key, 'done')
  expect(system.runs.started(key)).toHaveLength(1)
  await atRest(system, 60_000)
  expect(await violations(system, sender.accepted)).toEqual([])
})

test('killed before its insert reached MySQL: nothing is accepted, and the next try is', async () => {
  const { body } = jobBody()
  const insert = receiver.mysql.hold('INSERT INTO sume_events')
  const refused = unanswered(body)
  await insert.reached
  await receiver.kill()
  await refused
  await receiver.start()
  await system.start('worker')
  expect(await deliver(receiver.url(), body)).toMatchObject({ answer: { receipt: 'accepted' } })
  await atRest(system, 60_000)
  expect(await violations(system, sender.accepted)).toEqual([])
})

test('the answer of the insert lost: the next try is a duplicate, and it is followed up once', async () => {
  const { jobId: key, body } = jobBody()
  const lost = receiver.mysql.loseAnswer('INSERT INTO sume_events')
  expect((await deliver(receiver.url(), body)).status).toBe(503)
  await lost
  expect(await deliver(receiver.url(), body)).toMatchObject({ answer: { receipt: 'duplicate' } })
  await system.start('worker')
  expect(await system.reached(key, 'done')).toMatchObject({ deliveries: 2, attempts: 1 })
  await atRest(system, 60_000)
  expect(system.runs.started(key)).toHaveLength(1)
  expect(await violations(system, sender.accepted)).toEqual([])
})

test('frozen while deliveries come: they go to the other one, and what it held is not lost', async () => {
  const other = await system.start('receiver')
  const all = makeSender(() => [receiver.url(), other.url()])
  receiver.freeze()
  const frozen = Promise.all(Array.from({ length: 20 }, () => all.send()))
  await expect.poll(() => all.accepted.size).toBeGreaterThanOrEqual(10)
  receiver.thaw()
  await frozen
  await system.start('worker')
  await atRest(system, 60_000)
  expect(await violations(system, all.accepted)).toEqual([])
  expect(system.runs.started()).toHaveLength(21)
})
