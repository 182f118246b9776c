import { expect, test } from 'vitest'
import { ageText } from './age-text.ts'

test('an age is told in its largest unit', () => {
  expect([0, 59, 60, 3599, 3600, 86_399, 86_400 * 12].map(ageText)).toEqual([
    '0 s',
    '59 s',
    '1 min',
    '59 min',
    '1 h',
    '23 h',
    '12 d',
  ])
})

test('a clock that was set back makes no negative age', () => {
  expect(ageText(-5)).toBe('0 s')
})
