import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makeSumeClient, SumeError, type SumeOptions } from '@sume-inbox/shared/sume'
import { openSandbox, type SandboxProcess, waitFor } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

let sandbox: SandboxProcess
beforeAll(async () => {
  sandbox = await openSandbox()
})
afterAll(() => sandbox[Symbol.asyncDispose]())

const KEY = 'sume_test_key_of_nobody'
const failures: SumeError[] = []
const client = (more: Partial<SumeOptions> = {}) =>
  makeSumeClient({
    url: sandbox.url,
    key: KEY,
    auth: 'bearer',
    jobPath: '/v1/jobs/{id}',
    runPath: '/v1/runs/{id}',
    onFailure: (error) => failures.push(error),
    ...more,
  })
const image = (key: string, plan: object = {}) => ({
  path: '/v1/image-router/generate',
  key,
  kind: 'job' as const,
  body: JSON.stringify({ model: 'sandbox/image', sandbox: { run_ms: 0, ...plan } }),
})
const run = (key: string, plan: object = {}) => ({
  path: '/v1/formats/f_1/runs',
  key,
  kind: 'run' as const,
  body: JSON.stringify({ sandbox: { run_ms: 0, ...plan } }),
})

/** What a call failed with. */
const failed = (call: Promise<unknown>): Promise<SumeError> =>
  call.then(
    () => expect.unreachable('the call went well'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(SumeError)
      return error as SumeError
    },
  )

test('submit, and the same again: one job, and the second answer says so', async () => {
  const first = await client().submit(image('k1'))
  expect(first).toEqual({ sumeId: expect.stringMatching(/^job_/), kind: 'job', hit: false })
  expect(await client({ auth: 'x-api-key' }).submit(image('k1'))).toEqual({ ...first, hit: true })
  const firstRun = await client().submit(run('k2'))
  expect(firstRun).toEqual({ sumeId: expect.stringMatching(/^run_/), kind: 'run', hit: false })
  expect(await client().submit(run('k2'))).toEqual({ ...firstRun, hit: true })
  // The receipt says what it is of, whatever was expected.
  expect(await client().submit({ ...run('k2'), kind: 'job' })).toEqual({ ...firstRun, hit: true })
  expect(await client().submit({ ...image('k1'), kind: 'run' })).toEqual({ ...first, hit: true })
})

test('a job from its status to its result, in the shape of the sandbox', async () => {
  const { sumeId } = await client().submit(image('k3'))
  await waitFor('its end', async () => (await client().jobStatus(sumeId)).status === 'completed')
  expect(await client().jobResult(sumeId)).toMatchObject({
    artifacts: [{ url: expect.any(String), type: 'image' }],
  })
  const open = await client().submit(image('k4', { run_ms: 60_000 }))
  expect(await client().jobStatus(open.sumeId)).toMatchObject({
    status: 'queued',
    recommendedMs: 2000,
  })
  expect(await failed(client().jobResult(open.sumeId))).toMatchObject({
    status: 409,
    code: 'job_not_finished',
    retryable: true,
  })
})

test('a refused job tells its error, a run its status', async () => {
  const refused = await client().submit(image('k5', { outcome: 'content_policy' }))
  await waitFor(
    'its end',
    async () => (await client().jobStatus(refused.sumeId)).status === 'failed',
  )
  expect((await client().jobStatus(refused.sumeId)).error).toMatchObject({
    public_reason: 'content_policy_rejected',
  })
  const skipped = await client().submit(run('k6', { outcome: 'skipped' }))
  await waitFor(
    'its end',
    async () => (await client().runStatus(skipped.sumeId)).status === 'skipped',
  )
})

test('cancel, and its refusal', async () => {
  const { sumeId } = await client().submit(image('k7', { run_ms: 60_000 }))
  await client().cancelJob(sumeId)
  expect((await client().jobStatus(sumeId)).status).toBe('canceled')
  expect(await failed(client().cancelJob(sumeId))).toMatchObject({
    status: 409,
    code: 'job_not_cancelable',
    retryable: false,
  })
})

test('the catalog needs no key, and knows four kinds', async () => {
  const models = await client({ key: '-' }).catalog()
  expect(models.map(({ kind }) => kind).sort()).toEqual(['captions', 'image', 'lipsync', 'video'])
  expect(await client().catalogModel('sandbox/video')).toMatchObject({ kind: 'video' })
  expect(await failed(client().catalogModel('nobody/nothing'))).toMatchObject({ status: 404 })
})

test('an id is percent-encoded, so it cannot reach another path', async () => {
  expect(await failed(client().jobStatus('../../_sandbox/paid?'))).toMatchObject({
    call: 'GET /v1/jobs/..%2F..%2F_sandbox%2Fpaid%3F/status',
    status: 404,
  })
})

test('a refusal carries status, code, request_id, the places that were wrong, and is told once', async () => {
  failures.length = 0
  const error = await failed(client().submit({ ...image('k8'), body: '{"secret prompt":1}' }))
  expect(error).toMatchObject({
    kind: 'refused',
    call: 'POST /v1/image-router/generate',
    status: 400,
    code: 'validation_error',
    requestId: expect.stringMatching(/^req_/),
    retryable: false,
    paths: ['model'],
    message: 'POST /v1/image-router/generate: 400 validation_error (model)',
  })
  expect(failures).toEqual([error])
})

test.each([
  ['non_json', { do: 'non_json', status: 502 }, { status: 502, code: null, retryable: true }],
  [
    'a redirect, which is not followed',
    { do: 'status', status: 302 },
    { status: 302, retryable: true },
  ],
  ['429', { do: 'status', status: 429, retry_after: 3 }, { status: 429, retryAfterMs: 3000 }],
  [
    'a 2xx that is a page',
    { do: 'non_json', status: 200 },
    { kind: 'unreadable', retryable: true },
  ],
  ['a cut connection', { do: 'cut' }, { kind: 'unreached', status: null, retryable: true }],
])('%s', async (_, fault, expected) => {
  await sandbox.fault({ method: 'POST', path: '/v1/image-router', times: 1, ...fault })
  expect(await failed(client().submit(image('k9')))).toMatchObject(expected)
})

test('the request_id may be in a header only', async () => {
  const error = await failed(client().jobStatus('job_nobody'))
  expect(error.requestId).toMatch(/^req_/)
})

test('a hanging answer ends at the time limit', async () => {
  await sandbox.fault({ path: '/v1/jobs', times: 1, do: 'hang' })
  expect(await failed(client({ callMs: 100 }).jobStatus('job_1'))).toMatchObject({
    kind: 'unreached',
  })
})

/** A server that answers the same to everything. */
async function answering(status: number, text: string, headers: Record<string, string> = {}) {
  const asked: IncomingMessage[] = []
  const server = createServer((request, response) => {
    asked.push(request)
    response.writeHead(status, headers).end(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    asked,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

test.each([
  ['nothing', ''],
  ['an array', '[]'],
  ['no data', '{"job":{"id":"job_1"}}'],
  ['data that is null', '{"data":null}'],
  ['no id', '{"data":{"idempotency_hit":false}}'],
  ['an id that is a number', '{"data":{"job":{"id":17}}}'],
  ['an id that the ledger cannot keep', `{"data":{"job":{"id":"${'x'.repeat(65)}"}}}`],
])('a 200 with %s is unreadable, never an id', async (_, text) => {
  await using server = await answering(200, text)
  expect(await failed(client({ url: server.url }).submit(image('k')))).toMatchObject({
    kind: 'unreadable',
    retryable: true,
  })
})

test.each([
  '{"error":"busy"}',
  '{"error":null}',
  '[]',
  '"x"',
  '{"error":{"code":7,"details":{"errors":[null,{"path":9}]}}}',
])('an error page %s is a refusal all the same', async (text) => {
  await using server = await answering(503, text, { 'x-sume-request-id': 'req_header' })
  expect(await failed(client({ url: server.url }).jobStatus('job_1'))).toMatchObject({
    status: 503,
    code: null,
    requestId: 'req_header',
    paths: [],
  })
})

test('nobody there, a host that is none: unreached, and the key is in no message', async () => {
  for (const url of ['http://127.0.0.1:1', 'http://nowhere.invalid']) {
    const error = await failed(client({ url }).jobStatus('job_1'))
    expect(error.kind).toBe('unreached')
    expect(String(error) + JSON.stringify(error)).not.toContain(KEY)
  }
})

test('the paid call carries the key and the very bytes', async () => {
  await using server = await answering(200, '{"data":{"job":{"id":"job_1"}}}')
  await client({ url: `${server.url}/` }).submit({ ...image('order:1'), body: '{"a": 1e2}' })
  expect(server.asked[0]).toMatchObject({
    method: 'POST',
    url: '/v1/image-router/generate',
    headers: {
      'idempotency-key': 'order:1',
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      'content-length': '10',
    },
  })
})
