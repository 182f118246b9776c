import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { waitFor } from '@sume-inbox/testing'
import { openSandbox } from './bench.ts'

let sandbox: Awaited<ReturnType<typeof openSandbox>>
beforeAll(async () => {
  sandbox = await openSandbox()
})
beforeEach(() => sandbox.call('POST', '/_sandbox/reset'))
afterAll(() => sandbox[Symbol.asyncDispose]())

const IMAGE = '/v1/image-router/generate'
const body = { model: 'sandbox/image', prompt: 'a kite', sandbox: { run_ms: 10 } }
const key = (value: string) => ({ 'idempotency-key': value })

test('the same key and body give the same job; another body is a conflict; no key is a new job each time', async () => {
  const first = await sandbox.call('POST', IMAGE, body, key('k1'))
  const again = await sandbox.call('POST', IMAGE, body, key('k1'))
  expect(first.body.data).toMatchObject({
    idempotency_hit: false,
    job: { type: 'image', status: 'queued' },
  })
  expect(again.body.data).toMatchObject({
    request_id: first.body.data.request_id,
    idempotency_hit: true,
  })
  const conflict = await sandbox.call('POST', IMAGE, { ...body, prompt: 'another' }, key('k1'))
  expect(conflict.status).toBe(409)
  expect(conflict.body.error).toMatchObject({ code: 'idempotency_conflict', retryable: false })
  await sandbox.call('POST', IMAGE, body)
  await sandbox.call('POST', IMAGE, body)
  const paid = (await sandbox.call('GET', '/_sandbox/paid')).body.data as { key: string | null }[]
  expect(paid.map((job) => job.key)).toEqual(['k1', null, null])
})

test('a run of a Format answers 202, then 200 with the original receipt', async () => {
  const path = '/v1/formats/demo/runs'
  const first = await sandbox.call('POST', path, { input: 1 }, key('r1'))
  const again = await sandbox.call('POST', path, { input: 1 }, key('r1'))
  expect([first.status, again.status]).toEqual([202, 200])
  expect(again.body.data).toMatchObject({ run_id: first.body.data.run_id, idempotency_hit: true })
  expect((await sandbox.call('POST', path, { input: 2 }, key('r1'))).body.error.code).toBe(
    'idempotency_conflict',
  )
})

test('status and result follow a job to its end', async () => {
  const { body: submitted } = await sandbox.call('POST', IMAGE, {
    ...body,
    sandbox: { run_ms: 200 },
  })
  const id = submitted.data.request_id as string
  const early = await sandbox.call('GET', `/v1/jobs/${id}/status`)
  expect(early.body.data).toMatchObject({
    sume_status: 'queued',
    recommended_poll_interval_seconds: 2,
  })
  expect((await sandbox.call('GET', `/v1/jobs/${id}/result`)).status).toBe(409)
  await waitFor('the end', async () => {
    const { body: now } = await sandbox.call('GET', `/v1/jobs/${id}/status`)
    return now.data.sume_status === 'completed'
  })
  expect((await sandbox.call('GET', `/v1/jobs/${id}/result`)).body.data).toMatchObject({
    status: 'COMPLETED',
    result: { artifacts: [{ content_type: 'image/png' }] },
  })
})

test('a failed job gives its status as the result', async () => {
  const { body: submitted } = await sandbox.call('POST', IMAGE, {
    ...body,
    sandbox: { run_ms: 0, outcome: 'content_policy' },
  })
  const path = `/v1/jobs/${submitted.data.request_id}/result`
  const result = await waitFor('the end', async () => {
    const answer = await sandbox.call('GET', path)
    return answer.status === 200 && answer
  })
  expect(result.body.data).toMatchObject({
    status: 'FAILED',
    job: { error: { public_reason: 'content_policy_rejected' } },
  })
})

test('cancel works in the queue, and is refused at work and after the end', async () => {
  const queued = await sandbox.call('POST', IMAGE, { ...body, sandbox: { run_ms: 60_000 } })
  const cancel = (id: string) => sandbox.call('POST', `/v1/jobs/${id}/cancel`)
  expect((await cancel(queued.body.data.request_id)).body.data.sume_status).toBe('canceled')
  expect((await cancel(queued.body.data.request_id)).body.error.code).toBe('job_not_cancelable')
  const working = await sandbox.call('POST', IMAGE, { ...body, sandbox: { run_ms: 2000 } })
  const id = working.body.data.request_id as string
  await waitFor('the model to work', async () => {
    const { body: now } = await sandbox.call('GET', `/v1/jobs/${id}/status`)
    return now.data.sume_status === 'processing'
  })
  expect((await cancel(id)).body.error.code).toBe('job_generation_already_started')
})

test('the catalog needs no key; everything else does, by either header', async () => {
  const none = { authorization: '' }
  const list = await sandbox.call('GET', '/v1/open/catalog', undefined, none)
  const kinds = (list.body.data as { kind: string }[]).map((model) => model.kind)
  expect(kinds).toEqual(['image', 'video', 'lipsync', 'captions'])
  expect(
    (await sandbox.call('GET', '/v1/open/catalog/sandbox%2Fvideo', undefined, none)).body.data.kind,
  ).toBe('video')
  expect((await sandbox.call('GET', '/v1/open/catalog/nothing')).status).toBe(404)
  expect((await sandbox.call('POST', IMAGE, body, none)).status).toBe(401)
  expect((await sandbox.call('POST', IMAGE, body, { ...none, 'x-api-key': 'k' })).status).toBe(200)
})

test('errors come in the envelope, with the call id in body and header', async () => {
  for (const [method, path, given, status] of [
    ['GET', '/v1/jobs/job_none/status', undefined, 404],
    ['GET', '/nowhere', undefined, 404],
    ['POST', IMAGE, '{"model":', 400],
    ['POST', IMAGE, {}, 400],
    ['POST', IMAGE, { model: 'm', sandbox: { outcome: 'odd' } }, 400],
  ] as const) {
    const answer = await sandbox.call(method, path, given)
    expect([path, answer.status]).toEqual([path, status])
    expect(answer.body.error.request_id).toBe(answer.headers.get('x-sume-request-id'))
    expect(answer.body.request_id).toMatch(/^req_/)
  }
})

const fault = (what: Record<string, unknown>) =>
  sandbox.call('POST', '/_sandbox/faults', { times: 1, ...what })
const paid = async () =>
  ((await sandbox.call('GET', '/_sandbox/paid')).body.data as unknown[]).length

test('a fault of kind status answers as told, for as many calls as told, and only where it fits', async () => {
  await fault({
    path: IMAGE,
    method: 'post',
    times: 2,
    do: 'status',
    status: 429,
    code: 'rate_limited',
    retry_after: 7,
  })
  expect((await sandbox.call('GET', '/v1/open/catalog')).status).toBe(200)
  for (let i = 0; i < 2; i++) {
    const answer = await sandbox.call('POST', IMAGE, body)
    expect([answer.status, answer.headers.get('retry-after'), answer.body.error.code]).toEqual([
      429,
      '7',
      'rate_limited',
    ])
  }
  expect((await sandbox.call('POST', IMAGE, body)).status).toBe(200)
})

test('cut does the work and gives no answer; hang and non_json do none', async () => {
  await fault({ do: 'cut' })
  await expect(sandbox.call('POST', IMAGE, body, key('cut'))).rejects.toThrow('fetch failed')
  expect(await paid()).toBe(1)
  expect((await sandbox.call('POST', IMAGE, body, key('cut'))).body.data.idempotency_hit).toBe(true)
  await fault({ do: 'hang', ms: 50 })
  await expect(sandbox.call('POST', IMAGE, body, key('hang'))).rejects.toThrow('fetch failed')
  await fault({ do: 'non_json', status: 502 })
  const page = await sandbox.call('POST', IMAGE, body, key('page'))
  expect([page.status, typeof page.body]).toEqual([502, 'string'])
  expect(await paid()).toBe(1)
})

test('late does the work and answers after its time', async () => {
  await fault({ do: 'late', ms: 150 })
  const start = performance.now()
  expect((await sandbox.call('POST', IMAGE, body)).status).toBe(200)
  expect(performance.now() - start).toBeGreaterThan(140)
})

test('a fault that does not exist is refused', async () => {
  expect((await fault({ do: 'explode' })).status).toBe(400)
})
