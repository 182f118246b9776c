import { expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'

const backoff = { baseMs: 1000, capMs: 600_000 }

test('a backoff doubles with each attempt and stops at its cap', () => {
  const longest = () => 1
  expect([1, 2, 3, 10, 11, 1000].map((n) => backoffMs(n, backoff, longest))).toEqual([
    1000, 2000, 4000, 512_000, 600_000, 600_000,
  ])
})

test('a backoff is at least half of its longest, and whole milliseconds', () => {
  expect(backoffMs(1, backoff, () => 0)).toBe(500)
  expect(Number.isInteger(backoffMs(3, backoff, () => 0.333))).toBe(true)
})
