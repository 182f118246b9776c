import { openServices, type Services } from '@sume-inbox/services'
import { deliver, jobBody, waitFor } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSystem } from './system.ts'

/** MySQL and Redis of this file's own, to be stopped and frozen. */
let own: Services

beforeAll(async () => {
  own = await openServices({ private: true })
})
afterAll(() => own.close())

test('MySQL stopped: 503 within 5 s and nothing accepted; the next delivery after its return is 200', async () => {
  await using system = await openSystem(own)
  const receiver = await system.start('receiver')
  await system.start('worker')
  const { jobId, body } = jobBody()
  await own.mysql?.stop()
  const refused = await deliver(receiver.url, body)
  expect(refused.status).toBe(503)
  expect(refused.ms).toBeLessThan(5000)
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
  await own.mysql?.start()
  await waitFor(
    'the receiver to be ready',
    async () => (await fetch(`${receiver.url}/health/ready`)).ok,
  )
  expect((await deliver(receiver.url, body)).answer).toEqual({ receipt: 'accepted' })
  await system.reached(jobId, 'done')
  expect(system.runs(jobId)).toHaveLength(1)
})

test('Redis stopped: 200 within 2 s, the row is claimed, and it is followed up after Redis is back', async () => {
  await using system = await openSystem(own)
  const receiver = await system.start('receiver')
  await system.start('worker')
  await own.redis?.stop()
  const { jobId, body } = jobBody()
  const accepted = await deliver(receiver.url, body)
  expect(accepted.answer).toEqual({ receipt: 'accepted' })
  expect(accepted.ms).toBeLessThan(2000)
  await system.reached(jobId, 'claimed')
  await own.redis?.start()
  await system.reached(jobId, 'done', 60_000)
  expect(system.runs(jobId)).toHaveLength(1)
})

test('a receiver and a worker that start before MySQL and Redis become ready when these come', async () => {
  await using system = await openSystem(own)
  await own.redis?.stop()
  await own.mysql?.stop()
  const receiver = await system.start('receiver')
  const worker = await system.start('worker')
  expect((await fetch(`${receiver.url}/health/ready`)).status).toBe(503)
  expect((await fetch(`${receiver.url}/health/live`)).status).toBe(200)
  await own.mysql?.start()
  await own.redis?.start()
  await waitFor(
    'the receiver to be ready',
    async () => (await fetch(`${receiver.url}/health/ready`)).ok,
  )
  await waitFor(
    'the worker to be ready',
    async () => (await fetch(`${worker.internalUrl}/health/ready`)).ok,
  )
  const { jobId, body } = jobBody()
  expect((await deliver(receiver.url, body)).status).toBe(200)
  await system.reached(jobId, 'done', 60_000)
})
