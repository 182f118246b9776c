import { expect, test } from 'vitest'
import { jobId, jobOptions } from './follow-ups-queue.ts'

test.each(['a:b', 'a:b:c', '123', '0', '-5', 'NaN', 'job_1', 'run:req_1'])(
  'the job id of %j is one that BullMQ takes, and stays the same',
  (key) => {
    expect(jobId(key)).toMatch(/^evt-[0-9a-f]{64}$/)
    expect(jobId(key)).toBe(jobId(key))
  },
)

test('two keys never share a job id', () => {
  const keys = ['1', '1:', 'A', 'a', 'run:a']
  expect(new Set(keys.map(jobId)).size).toBe(keys.length)
})

test('ERROR jobs have no priority, which puts them before the OK ones', () => {
  expect(jobOptions({ dedupeKey: 'k', status: 'ERROR' }, 3).priority).toBeUndefined()
  expect(jobOptions({ dedupeKey: 'k', status: 'OK' }, 3).priority).toBeGreaterThan(0)
})
