import { expect, test } from 'vitest'
import { defineFollowUps, findFollowUp } from './define-follow-ups.ts'

const nothing = async () => undefined

test('the most specific pattern wins', () => {
  const names = ['job.completed', 'job.*', 'job.video.*', 'run.*', '*']
  const table = defineFollowUps(
    Object.fromEntries(names.map((name) => [name, async () => undefined])),
  )
  const found = (event: string) => names.find((name) => table[name] === findFollowUp(table, event))
  expect(found('job.completed')).toBe('job.completed')
  expect(found('job.failed')).toBe('job.*')
  expect(found('job.video.failed')).toBe('job.video.*')
  expect(found('run.completed')).toBe('run.*')
  expect(found('avatar.ready')).toBe('*')
  expect(found('jobless')).toBe('*')
})

test('an event that no entry matches has no follow-up, not even by an inherited name', () => {
  const table = defineFollowUps({ 'job.completed': nothing })
  expect(findFollowUp(table, 'job.failed')).toBeNull()
  expect(findFollowUp(table, 'toString')).toBeNull()
  expect(findFollowUp(table, '__proto__')).toBeNull()
})

test('every entry that could never be used is named', () => {
  const bad = { 'job*': nothing, '': nothing, 'job.failed': 'handler' } as never
  expect(() => defineFollowUps(bad)).toThrow(
    /'job\*' is not.*'' is not.*'job.failed' is not a function/,
  )
  expect(() => defineFollowUps({})).toThrow(/no entry/)
})
