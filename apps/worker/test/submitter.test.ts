import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { reserve, submitNext } from '@sume-inbox/shared/intents'
import { type IntentSummary, readIntent } from '@sume-inbox/shared/ledger'
import { makeSumeClient } from '@sume-inbox/shared/sume'
import {
  type AppProcess,
  openSandbox,
  openTcpProxy,
  type SandboxProcess,
  startApp,
  waitFor,
} from '@sume-inbox/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Bench, openBench } from './harness.ts'

let sandbox: SandboxProcess
let bench: Bench
beforeAll(async () => {
  sandbox = await openSandbox()
})
afterAll(() => sandbox[Symbol.asyncDispose]())
beforeEach(async () => {
  await fetch(`${sandbox.url}/_sandbox/reset`, { method: 'POST' })
  bench = await openBench()
})
afterEach(() => bench[Symbol.asyncDispose]())

const WEBHOOK = 'http://127.0.0.1:9/nobody'
const settings = () => ({
  SUME_API_URL: sandbox.url,
  SUME_API_KEY: 'any',
  SUBMIT_PER_SECOND: '1000',
})
const intent = (key: string = randomUUID()) => ({
  key,
  path: '/v1/image-router/generate',
  body: { model: 'sandbox/image', sandbox: { webhook: 'drop' } },
})
const reserved = async (webhookUrl = WEBHOOK) => {
  const wanted = intent()
  await reserve(bench.ledger, wanted, { webhookUrl })
  return wanted.key
}
const until = (key: string, what: string, holds: (row: IntentSummary) => boolean) =>
  waitFor(`the intent to be ${what}`, async () => {
    const row = await readIntent(bench.ledger, key)
    return row !== null && holds(row) && row
  })
const reached = (key: string, state: IntentSummary['state']) =>
  until(key, state, (row) => row.state === state)
/** The jobs that were paid for under a key. */
const paidFor = async (key: string) => (await sandbox.paid()).filter((job) => job.key === key)
/** Lets a postponed intent be sent at once. */
const hurry = (key: string) =>
  bench.ledger.query(
    'UPDATE sume_intents SET due_at = NOW(3) WHERE idempotency_key = ? AND lease_token IS NULL',
    [key],
  )

test('a pending intent is sent once, and gets its id', async () => {
  const key = await reserved()
  const worker = await bench.startWorker({}, settings())
  const row = await reached(key, 'submitted')
  expect(await paidFor(key)).toMatchObject([{ id: row.sume_id }])
  expect(worker.seen('intent:tried')).toMatchObject([
    { key, attempt: 1, outcome: 'submitted', sumeId: row.sume_id, hit: false },
  ])
})

test('a key reserved inside a transaction that is rolled back submits nothing', async () => {
  const { key } = intent()
  const rolledBack = bench.ledger.inTransaction(async (tx) => {
    await reserve(tx, intent(key), { webhookUrl: WEBHOOK })
    throw new Error('the order failed')
  })
  await expect(rolledBack).rejects.toThrow('the order failed')
  const after = await reserved()
  await bench.startWorker({}, settings())
  await reached(after, 'submitted')
  expect(await sandbox.paid()).toHaveLength(1)
})

test.each([
  ['a connection cut after the send', { do: 'cut' }],
  ['500', { do: 'status', status: 500 }],
  ['503 with retry-after', { do: 'status', status: 503, retry_after: 1 }],
  ['429 without retry-after', { do: 'status', status: 429 }],
  ['408', { do: 'status', status: 408 }],
  ['a redirect', { do: 'status', status: 302 }],
  ['an error page that is no JSON', { do: 'non_json', status: 502 }],
  ['a 200 that cannot be read', { do: 'non_json', status: 200 }],
])('%s: the same key and bytes again, one paid job, and its id', async (_, fault) => {
  await sandbox.fault({ method: 'POST', path: '/v1/image-router', times: 2, ...fault })
  const key = await reserved()
  const worker = await bench.startWorker({}, settings())
  await until(key, 'tried', (row) => row.attempts > 0 && row.last_error !== null)
  const row = await reached(key, 'submitted')
  expect(row).toMatchObject({ attempts: 3, last_error: null })
  await waitFor('the last try to be told', () => worker.seen('intent:tried').length === 3)
  expect(await paidFor(key)).toMatchObject([{ id: row.sume_id }])
  expect(worker.seen('intent:tried').map(({ outcome }) => outcome)).toEqual([
    'pending',
    'pending',
    'submitted',
  ])
  // The first one was paid for although its answer was lost: the last answer says so.
  expect(worker.seen('intent:tried').at(-1)?.hit).toBe(fault.do === 'cut')
})

test('429 with retry-after: neither this intent nor another is sent before its time', async () => {
  await sandbox.fault({
    path: '/v1/image-router',
    times: 1,
    do: 'status',
    status: 429,
    retry_after: 2,
  })
  const worker = await bench.startWorker({}, { ...settings(), SUBMIT_CONCURRENCY: '1' })
  const key = await reserved()
  await until(key, 'refused for now', (row) => row.error_code !== null)
  const refusedAt = performance.now()
  const other = await reserved()
  await Promise.all([reached(key, 'submitted'), reached(other, 'submitted')])
  expect(performance.now() - refusedAt).toBeGreaterThan(1500)
  expect(worker.seen('intent:tried')[0]).toMatchObject({ outcome: 'pending', pauseMs: 2000 })
})

test.each([
  [400, 'validation_error'],
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [409, 'something_else'],
  [422, 'unprocessable'],
])(
  '%i is definite: rejected, with the call’s request_id stored and told, and sent once',
  async (status, code) => {
    await sandbox.fault({ path: '/v1/image-router', times: 1, do: 'status', status, code })
    const key = await reserved()
    const worker = await bench.startWorker({}, settings())
    const row = await reached(key, 'rejected')
    expect(row).toMatchObject({
      attempts: 1,
      sume_id: null,
      error_code: code,
      error_request_id: expect.stringMatching(/^req_/),
      last_error: `POST /v1/image-router/generate: ${status} ${code}`,
    })
    expect(worker.seen('sume:failed')).toMatchObject([{ status, requestId: row.error_request_id }])
    // One behind it is sent, so this one would have been too.
    await reached(await reserved(), 'submitted')
    expect(await paidFor(key)).toEqual([])
  },
)

test('paid, the answer lost, then 401: open until the key is mended, and then the same job', async () => {
  await sandbox.fault({ path: '/v1/image-router', times: 1, do: 'cut' })
  await sandbox.fault({ path: '/v1/image-router', times: 1, do: 'status', status: 401 })
  const key = await reserved()
  await bench.startWorker({}, { ...settings(), BACKOFF_MS: '50' })
  const row = await reached(key, 'submitted')
  expect(row.attempts).toBe(3)
  expect(await paidFor(key)).toMatchObject([{ id: row.sume_id }])
})

test.each([
  ['a run', '/v1/formats/f_1/runs', 'run'],
  ['a job', '/v1/image-router/generate', 'job'],
] as const)(
  '%s that was written down as the other kind is what its receipt says',
  async (_, path, kind) => {
    const key = randomUUID()
    const body = JSON.stringify(intent().body)
    await bench.ledger.query(
      'INSERT INTO sume_intents (idempotency_key, path, body, kind) VALUES (?)',
      [[key, path, body, kind === 'run' ? 'job' : 'run']],
    )
    await bench.startWorker({}, settings())
    const row = await reached(key, 'submitted')
    expect(row.kind).toBe(kind)
    expect(await paidFor(key)).toMatchObject([{ id: row.sume_id, kind }])
  },
)

test('the key used with another body by another program: conflict, not repeated', async () => {
  const key = await reserved()
  const sent = await fetch(`${sandbox.url}/v1/image-router/generate`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer x',
      'idempotency-key': key,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'another' }),
  })
  expect(sent.status).toBe(200)
  const worker = await bench.startWorker({}, settings())
  expect(await reached(key, 'conflict')).toMatchObject({
    error_code: 'idempotency_conflict',
    attempts: 1,
    sume_id: null,
  })
  await reached(await reserved(), 'submitted')
  expect(worker.seen('intent:tried').filter((tried) => tried.key === key)).toHaveLength(1)
  expect(await paidFor(key)).toHaveLength(1)
})

test('SUME_WEBHOOK_URL changed between two tries: still the same bytes, so no conflict', async () => {
  await sandbox.fault({ path: '/v1/image-router', times: 1, do: 'cut' })
  const key = await reserved()
  const before = await bench.startWorker(
    {},
    { ...settings(), BACKOFF_MS: '3600000', BACKOFF_CAP_MS: '3600000', SUME_WEBHOOK_URL: WEBHOOK },
  )
  await until(key, 'tried', (row) => row.last_error !== null)
  await before.stop()
  await hurry(key)
  await bench.startWorker({}, { ...settings(), SUME_WEBHOOK_URL: 'http://127.0.0.1:9/elsewhere' })
  await reached(key, 'submitted')
  expect(await paidFor(key)).toHaveLength(1)
})

test('50 submitters racing on 1,000 intents: one paid job each, and every intent has its id', async () => {
  const keys = Array.from({ length: 1000 }, (_, i) => `race-${i}`)
  const body = JSON.stringify({ ...intent().body, mode: 'webhook', webhook_url: WEBHOOK })
  await bench.ledger.query('INSERT INTO sume_intents (idempotency_key, path, body) VALUES ?', [
    keys.map((key) => [key, intent().path, body]),
  ])
  const client = makeSumeClient({
    url: sandbox.url,
    key: 'any',
    auth: 'bearer',
    jobPath: '/v1/jobs/{id}',
    runPath: '/v1/runs/{id}',
  })
  const rules = {
    leaseMs: 60_000,
    backoff: { baseMs: 10, capMs: 10 },
    pollAfterMs: 60_000,
  }
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      while ((await submitNext({ ledger: bench.ledger, client }, rules)) !== null);
    }),
  )
  const paid = await sandbox.paid()
  expect(new Set(paid.map((job) => job.key))).toEqual(new Set(keys))
  expect(paid).toHaveLength(1000)
  const ids = await bench.rows("SELECT sume_id FROM sume_intents WHERE state = 'submitted'")
  expect(new Set(ids.map((row) => row['sume_id']))).toEqual(new Set(paid.map(({ id }) => id)))
})

test('two submitters whose leases overlap send the same key twice: one paid job', async () => {
  await sandbox.fault({ path: '/v1/image-router', times: 1, do: 'late', ms: 700 })
  const key = await reserved()
  const slow = await bench.startWorker({}, settings())
  await waitFor('the first try to be under way', async () => (await paidFor(key)).length === 1)
  // Its lease ends while its call is under way, as that of a frozen process does.
  await bench.ledger.query('UPDATE sume_intents SET leased_until = NOW(3), due_at = NOW(3)')
  const row = await reached(key, 'submitted')
  await waitFor('both tries to end', () => slow.seen('intent:tried').length === 2)
  expect(await paidFor(key)).toMatchObject([{ id: row.sume_id }])
  expect(await readIntent(bench.ledger, key)).toMatchObject({ state: 'submitted', attempts: 2 })
})

test('a hanging call does not keep a stopping worker; the intent is sent again, with its key', async () => {
  await sandbox.fault({ path: '/v1/image-router', times: 1, do: 'hang' })
  const key = await reserved()
  const worker = await bench.startWorker({}, { ...settings(), STOP_GRACE_MS: '1500' })
  await until(key, 'leased', (row) => row.attempts === 1)
  const start = performance.now()
  await worker.stop()
  expect(performance.now() - start).toBeLessThan(1500)
  // Not after its lease of two minutes: the worker gave it back.
  expect(await readIntent(bench.ledger, key)).toMatchObject({
    state: 'pending',
    leased_until: null,
  })
  await hurry(key)
  await bench.startWorker({}, settings())
  await reached(key, 'submitted')
  expect(await paidFor(key)).toHaveLength(1)
})

test('no faster than SUBMIT_PER_SECOND, with SUBMIT_CONCURRENCY calls in flight', async () => {
  await Promise.all(Array.from({ length: 12 }, () => reserved()))
  const worker = await bench.startWorker({}, { ...settings(), SUBMIT_PER_SECOND: '10' })
  const start = performance.now()
  await waitFor('all to be sent', () => worker.seen('intent:tried').length === 12)
  // Eleven gaps of 100 ms, of which the first may have been over before.
  expect(performance.now() - start).toBeGreaterThan(950)
})

/** A worker process of its own, to be killed. */
const workerProcess = (databaseUrl: string): Promise<AppProcess> =>
  startApp('worker', {
    DATABASE_URL: databaseUrl,
    REDIS_URL: bench.redisUrl,
    QUEUE_PREFIX: bench.prefix,
    FOLLOW_UPS: join(import.meta.dirname, 'fixtures/follow-ups.ts'),
    DATABASE_TIMEOUT_MS: '1000',
    ...settings(),
  })

test('SIGKILL between Sume’s answer and attach: the next worker sends the same key and gets the same job', async () => {
  const mysql = await openTcpProxy(bench.databaseUrl)
  const url = new URL(bench.databaseUrl)
  url.host = `127.0.0.1:${mysql.port}`
  await sandbox.fault({ path: '/v1/image-router', times: 1, do: 'late', ms: 500 })
  const key = await reserved()
  await using killed = await workerProcess(url.href)
  // Sume has made the job, and its answer is on its way: from now on nothing of this worker reaches MySQL.
  await waitFor('the job to be paid', async () => (await paidFor(key)).length === 1)
  mysql.swallowRequests()
  await waitFor('attach to fail', () =>
    killed.lines.some((line) => line['service'] === 'submitter' && line['error'] !== undefined),
  )
  expect(await killed.stop('SIGKILL')).toBe('SIGKILL')
  await mysql.close()
  expect(await readIntent(bench.ledger, key)).toMatchObject({ state: 'pending', sume_id: null })
  // Its lease of two minutes ends here.
  await bench.ledger.query('UPDATE sume_intents SET leased_until = NOW(3), due_at = NOW(3)')
  await using next = await workerProcess(bench.databaseUrl)
  const row = await reached(key, 'submitted')
  expect(await paidFor(key)).toMatchObject([{ id: row.sume_id }])
  const told = await waitFor('it to be told', () =>
    next.lines.find((line) => line['msg'] === 'intent submitted'),
  )
  expect(told).toMatchObject({ hit: true })
})

test('without an API key a worker says so, and sends nothing', async () => {
  const key = await reserved()
  await using worker = await startApp('worker', {
    DATABASE_URL: bench.databaseUrl,
    REDIS_URL: bench.redisUrl,
    QUEUE_PREFIX: bench.prefix,
    FOLLOW_UPS: join(import.meta.dirname, 'fixtures/follow-ups.ts'),
    SUME_API_URL: sandbox.url,
  })
  expect(worker.output()).toContain('SUME_API_KEY is not set')
  expect(await readIntent(bench.ledger, key)).toMatchObject({ state: 'pending', attempts: 0 })
})

test('a call that hangs holds up no other intent', async () => {
  await sandbox.fault({ path: '/v1/image-router', times: 1, do: 'hang' })
  const hanging = await reserved()
  await bench.startWorker({}, { ...settings(), SUBMIT_CONCURRENCY: '2', STOP_GRACE_MS: '1500' })
  await until(hanging, 'leased', (row) => row.attempts === 1)
  await reached(await reserved(), 'submitted')
  expect(await readIntent(bench.ledger, hanging)).toMatchObject({ state: 'pending', attempts: 1 })
})
