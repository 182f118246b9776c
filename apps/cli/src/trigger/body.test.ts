import { parseEnvelope } from '@sume-inbox/shared/envelope'
import { expect, test } from 'vitest'
import { EVENTS, webhookBody } from './body.ts'

const fields = (body: Buffer) => JSON.parse(body.toString()) as Record<string, unknown>

test.each(EVENTS)(
  'the body of %s is an event that the receiver reads without a remark',
  (event) => {
    const parsed = parseEnvelope(webhookBody(event, {}))
    expect(parsed).toMatchObject({ readable: true, envelope: { event } })
    expect(parsed).not.toHaveProperty('odd')
  },
)

test('only a completed job or run is OK and has a result; every other has an error', () => {
  expect(fields(webhookBody('job.completed', {}))).toMatchObject({
    status: 'OK',
    result: { artifacts: [{ type: 'image' }] },
  })
  for (const event of ['job.failed', 'job.canceled', 'run.failed'] as const) {
    const body = fields(webhookBody(event, {}))
    expect(body).toMatchObject({ status: 'ERROR', error: { code: expect.any(String) } })
    expect(body).not.toHaveProperty('result')
  }
})

test("a job's request id is its job id, and a run has one of its own", () => {
  expect(fields(webhookBody('job.failed', { jobId: 'job_1' }))).toMatchObject({
    job_id: 'job_1',
    request_id: 'job_1',
  })
  const run = fields(webhookBody('run.completed', { runId: 'run_1' }))
  expect(run['run_id']).toBe('run_1')
  expect(run['request_id']).toMatch(/^req_/)
})

test('the given ids and status are in the body', () => {
  const ids = { runId: 'run_9', requestId: 'req_9' }
  expect(fields(webhookBody('run.completed', ids, 'ERROR'))).toMatchObject({
    run_id: 'run_9',
    request_id: 'req_9',
    status: 'ERROR',
  })
})
