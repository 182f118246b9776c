import { expect, test } from 'vitest'
import { didYouMean, nearest } from './nearest.ts'

const events = ['job.completed', 'job.failed', 'run.failed']

test('a slip of the finger finds its word', () => {
  expect(nearest('job.complted', events)).toBe('job.completed')
  expect(nearest('jobfailed', events)).toBe('job.failed')
})

test('the beginning or the end of an id finds it', () => {
  const ids = ['job_7f3a-1111', 'job_9e2b-2222']
  expect(nearest('job_9e', ids)).toBe('job_9e2b-2222')
  expect(nearest('1111', ids)).toBe('job_7f3a-1111')
})

test('nothing is offered for a word that is like none of them', () => {
  expect(nearest('quarantine', events)).toBeUndefined()
  expect(didYouMean('quarantine', events)).toBe('')
  expect(didYouMean('x', [])).toBe('')
})
