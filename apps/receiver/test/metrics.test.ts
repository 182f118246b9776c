import { deliver, jobBody, readMetrics } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Door, openDoor } from './door.ts'

let door: Door

beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door[Symbol.asyncDispose]())

test('deliveries are counted by receipt on the internal port, and not on the public one', async () => {
  const { body } = jobBody()
  await deliver(door.url, body)
  await deliver(door.url, body)
  await deliver(door.url, Buffer.from('no event'))
  await deliver(door.url, body, { secret: 'whsec_somebody_elses_secret' })

  const metrics = await readMetrics(door.process.internalUrl)
  for (const receipt of ['accepted', 'duplicate', 'quarantined', 'unsigned']) {
    expect(metrics.get(`sume_deliveries_total{receipt="${receipt}"}`), receipt).toBe(1)
  }
  // Strangers must not be able to move the latency that people are woken up by.
  expect(metrics.get('sume_delivery_duration_seconds_count')).toBe(3)
  expect(metrics.get('sume_enqueue_failures_total')).toBe(0)
  expect(metrics.get('process_resident_memory_bytes')).toBeGreaterThan(0)
  expect((await fetch(`${door.url}/metrics`)).status).toBe(404)
})

test('a job that Redis did not take is counted', async () => {
  const away = await door.another({ REDIS_URL: 'redis://127.0.0.1:1' })
  await deliver(away.url, jobBody().body)
  const metrics = await readMetrics(away.internalUrl)
  expect(metrics.get('sume_deliveries_total{receipt="accepted"}')).toBe(1)
  expect(metrics.get('sume_enqueue_failures_total')).toBe(1)
})
