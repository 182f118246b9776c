import { expect, test } from 'vitest'
import { makeRate } from './rate.ts'

const never = new AbortController().signal

test('however many wait, they begin one gap apart', async () => {
  const rate = makeRate(50)
  const start = performance.now()
  await Promise.all(Array.from({ length: 6 }, () => rate.take(never)))
  // Five gaps of 20 ms; a timer may fire a millisecond early.
  expect(performance.now() - start).toBeGreaterThanOrEqual(95)
})

test('in a pause nothing begins, also for those who waited already', async () => {
  const rate = makeRate(1000)
  await rate.take(never)
  const waiting = rate.take(never)
  rate.pause(100)
  const start = performance.now()
  expect(rate.pausedMs()).toBeGreaterThan(50)
  await waiting
  expect(performance.now() - start).toBeGreaterThanOrEqual(95)
  expect(rate.pausedMs()).toBe(0)
})

test('who waits is let go by the signal, without a turn', async () => {
  const rate = makeRate(1000)
  rate.pause(60_000)
  const stopping = new AbortController()
  const waiting = rate.take(stopping.signal)
  stopping.abort()
  expect(await waiting).toBe(false)
  expect(await rate.take(stopping.signal)).toBe(false)
})
