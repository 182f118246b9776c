import { expect, test } from 'vitest'
import { polledEvent } from './polled-event.ts'

const says = (status: string, error: Record<string, unknown> | null = null) => ({
  status,
  error,
  result: null,
  recommendedMs: 2000,
})
const parsed = (body: Buffer): unknown => JSON.parse(body.toString())
const artifacts = [{ url: 'https://x/1.png', type: 'image', content_type: 'image/png' }]

test.each(['completed', 'succeeded', 'success'])('a job that is %s: as its webhook', (status) => {
  const event = polledEvent('job', 'job_1', says(status), { artifacts })
  expect(event.envelope).toEqual({
    dedupeKey: 'job_1',
    kind: 'job',
    sumeId: 'job_1',
    requestId: 'job_1',
    event: 'job.completed',
    status: 'OK',
  })
  expect(parsed(event.body)).toEqual({
    event: 'job.completed',
    status: 'OK',
    job_id: 'job_1',
    request_id: 'job_1',
    result: { artifacts },
  })
})

test.each([
  ['canceled', 'job.canceled'],
  ['cancelled', 'job.canceled'],
  ['failed', 'job.failed'],
  ['nsfw', 'job.failed'],
  ['expired', 'job.failed'],
])('a job that is %s is %s, with Sume’s error', (status, name) => {
  const error = { code: 'content_policy_rejected', public_reason: 'content_policy_rejected' }
  const event = polledEvent('job', 'job_1', says(status, error), null)
  expect(event.envelope).toMatchObject({ event: name, status: 'ERROR' })
  expect(parsed(event.body)).toMatchObject({ event: name, status: 'ERROR', error })
})

test.each([
  ['completed', 'run.completed', 'OK'],
  ['failed', 'run.failed', 'ERROR'],
  ['canceled', 'run.canceled', 'ERROR'],
  ['skipped', 'run.skipped', 'ERROR'],
])(
  'a run that is %s is %s, under its own id, and has an error object unless it went well',
  (word, name, status) => {
    const event = polledEvent('run', 'run_1', says(word), { artifacts })
    expect(event.envelope).toEqual({
      dedupeKey: 'run:run_1',
      kind: 'run',
      sumeId: 'run_1',
      requestId: null,
      event: name,
      status,
    })
    expect(parsed(event.body)).toMatchObject(
      status === 'OK' ? { result: { artifacts } } : { error: { code: name.slice(4) } },
    )
  },
)
