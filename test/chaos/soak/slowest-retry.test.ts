import { expect, test } from 'vitest'
import { slowestRetry } from './slowest-retry.ts'

const step = (dedupe_key: string, name: 'claim' | 'settle', pid: number, at: number) => ({
  dedupe_key,
  step: name,
  attempt: 1,
  pid,
  at: new Date(at),
  beside: 0 as const,
})

test('counts from the kill to the next claim, only of what the killed worker held', () => {
  const steps = [
    step('held', 'claim', 1, 1000),
    step('settled before', 'claim', 1, 1000),
    step('settled before', 'settle', 1, 1500),
    step("another's", 'claim', 2, 1000),
    step('held', 'claim', 2, 36_000),
    step('settled before', 'claim', 2, 90_000),
    step("another's", 'claim', 2, 99_000),
    step('held', 'settle', 2, 36_100),
  ]
  expect(slowestRetry(steps, [{ pid: 1, at: 2000 }])).toBe(34_000)
})

test('nothing held, nothing slow', () => {
  expect(slowestRetry([step('a', 'claim', 1, 0)], [{ pid: 1, at: 5 }])).toBeNull()
})
