import { randomUUID } from 'node:crypto'
import type { FollowUpEvent } from '@sume-inbox/shared/follow-ups'
import { attach, reserve, type SubmitRequest } from '@sume-inbox/shared/intents'
import { adoptIntent, findEvents, readIntent } from '@sume-inbox/shared/ledger'
import {
  openSandbox,
  openTcpProxy,
  readMetrics,
  type SandboxProcess,
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

/** Webhooks are dropped by every plan here: what is known, the poll has brought. */
const settings = () => ({
  SUME_API_URL: sandbox.url,
  SUME_API_KEY: 'any',
  SUBMIT_PER_SECOND: '1000',
  RECONCILE_PER_SECOND: '1000',
  RECONCILE_AFTER_MS: '100',
})
const plan = (more: object = {}) => ({ webhook: 'drop', run_ms: 0, ...more })
const job = (more: object = {}): SubmitRequest => ({
  key: randomUUID(),
  path: '/v1/video-router/generate',
  body: { model: 'sandbox/video', sandbox: plan(more) },
})
const run = (more: object = {}): SubmitRequest => ({
  key: randomUUID(),
  path: '/v1/formats/f_1/runs',
  body: { sandbox: plan(more) },
})
const submit = async (request: SubmitRequest) => {
  await reserve(bench.ledger, request, { webhookUrl: 'http://127.0.0.1:9/nobody' })
  return request.key
}
const settled = (key: string) =>
  waitFor('the intent to be settled', async () => {
    const intent = await readIntent(bench.ledger, key)
    return intent?.state === 'settled' && intent
  })
const submitted = (key: string) =>
  waitFor('the intent to be submitted', async () => {
    const intent = await readIntent(bench.ledger, key)
    return intent?.state === 'submitted' && intent.sume_id
  })

/** A worker that keeps what its follow-ups got. */
async function startWorker(more: Record<string, string> = {}) {
  const got: FollowUpEvent[] = []
  const followUps = { '*': (event: FollowUpEvent) => void got.push(event) }
  const worker = await bench.startWorker(followUps, { ...settings(), ...more })
  return { ...worker, got, of: (key: string) => got.filter(({ intent }) => intent?.key === key) }
}

test.each([
  [
    'completed',
    'job.completed',
    'OK',
    {
      result: {
        artifacts: [
          { url: expect.any(String), type: 'video', content_type: expect.any(String) as string },
        ],
      },
    },
  ],
  ['failed', 'job.failed', 'ERROR', { error: { code: 'provider_failed' } }],
  [
    'content_policy',
    'job.failed',
    'ERROR',
    { error: { public_reason: 'content_policy_rejected' } },
  ],
  ['canceled', 'job.canceled', 'ERROR', { error: { code: 'canceled' } }],
])(
  'a job that ended as %s, by poll alone, reaches its follow-up once as %s',
  async (outcome, event, status, said) => {
    const worker = await startWorker()
    const request = job({ outcome })
    const key = await submit(request)
    const intent = await settled(key)
    await waitFor('the follow-up', () => worker.of(key).length === 1)
    expect(worker.of(key)).toMatchObject([
      {
        dedupeKey: intent.sume_id,
        requestId: intent.sume_id,
        event,
        status,
        source: 'poll',
        deliveries: 0,
        intent: { key, path: request.path, body: request.body },
        payload: { event, status, job_id: intent.sume_id, ...said },
      },
    ])
    await waitFor('the poll to be told', () => worker.seen('intent:reconciled').length > 0)
    expect(worker.seen('intent:reconciled').at(-1)).toMatchObject({ key, outcome: 'first', event })
    expect(
      (await readMetrics(worker.internalUrl)).get('sume_reconciled_total{outcome="first"}'),
    ).toBe(1)
  },
)

test.each([
  ['completed', 'run.completed', 'OK', { result: { artifacts: [{}] } }],
  ['failed', 'run.failed', 'ERROR', { error: { code: 'provider_failed' } }],
  ['canceled', 'run.canceled', 'ERROR', { error: { code: 'canceled' } }],
  ['skipped', 'run.skipped', 'ERROR', { error: { code: 'skipped' } }],
])(
  'a run that ended as %s, by poll alone, reaches its follow-up once as %s',
  async (outcome, event, status, said) => {
    const worker = await startWorker()
    const key = await submit(run({ outcome }))
    const intent = await settled(key)
    await waitFor('the follow-up', () => worker.of(key).length === 1)
    expect(worker.of(key)).toMatchObject([
      {
        dedupeKey: `run:${intent.sume_id}`,
        kind: 'run',
        requestId: null,
        event,
        status,
        payload: said,
      },
    ])
  },
)

test('one that takes its time is asked about again, no faster than Sume recommends', async () => {
  const worker = await startWorker()
  const key = await submit(job({ run_ms: 3000 }))
  const intent = await settled(key)
  expect(intent.polls).toBeGreaterThanOrEqual(2)
  const open = worker.seen('intent:reconciled').filter(({ outcome }) => outcome === 'open')
  expect(open.length).toBeGreaterThanOrEqual(1)
  for (const { delayMs } of open) expect(delayMs).toBeGreaterThanOrEqual(2000)
})

test('the schedule is in the row: a restart neither hurries nor delays it', async () => {
  const first = await startWorker({ RECONCILE_AFTER_MS: '3600000' })
  const key = await submit(job())
  await submitted(key)
  const before = await readIntent(bench.ledger, key)
  await first.stop()
  const second = await startWorker({ RECONCILE_AFTER_MS: '100' })
  const hasRun = () => second.seen('service:ran').filter(({ service }) => service === 'reconciler')
  await waitFor('a round', () => hasRun().length > 0)
  expect(hasRun()[0]?.report).toMatchObject({ asked: 0 })
  expect(await readIntent(bench.ledger, key)).toEqual(before)
})

test('down for an hour: it catches up with everything, oldest first, at its own rate', async () => {
  const submitter = await startWorker({ RECONCILE_AFTER_MS: '3600000' })
  const keys: string[] = []
  for (let i = 0; i < 25; i++) keys.push(await submit(job()))
  await Promise.all(keys.map(submitted))
  await submitter.stop()
  // An hour passes, in which nobody asks.
  await bench.ledger.query(
    'UPDATE sume_intents SET due_at = NOW(3) - INTERVAL 30 MINUTE - INTERVAL attempts MICROSECOND, submitted_at = submitted_at - INTERVAL 1 HOUR',
  )
  const start = performance.now()
  const worker = await startWorker({ RECONCILE_PER_SECOND: '10' })
  await Promise.all(keys.map(settled))
  // 25 calls with a tenth of a second between them.
  expect(performance.now() - start).toBeGreaterThan(2300)
  await waitFor('the follow-ups', () => worker.got.length === 25)
  expect(worker.seen('intent:reconciled').map(({ outcome }) => outcome)).toEqual(
    Array(25).fill('first'),
  )
})

test('two workers ask about each intent once between them', async () => {
  const [one, two] = [await startWorker(), await startWorker()]
  const keys = await Promise.all(Array.from({ length: 60 }, () => submit(job())))
  await Promise.all(keys.map(settled))
  const asked = [...one.seen('intent:reconciled'), ...two.seen('intent:reconciled')]
  expect(asked.filter(({ outcome }) => outcome === 'first')).toHaveLength(60)
  await waitFor('the follow-ups', () => one.got.length + two.got.length >= 60)
  expect(one.got.length + two.got.length).toBe(60)
})

test.each([
  ['429', { do: 'status', status: 429, retry_after: 1 }],
  ['500', { do: 'status', status: 500 }],
  ['401: a wrong API key', { do: 'status', status: 401 }],
  ['a cut connection', { do: 'cut' }],
])('%s ends the round: others are not asked about, and nothing is lost by it', async (_, fault) => {
  const submitter = await startWorker({ RECONCILE_AFTER_MS: '3600000' })
  const keys = await Promise.all(Array.from({ length: 3 }, () => submit(job())))
  await Promise.all(keys.map(submitted))
  await submitter.stop()
  await sandbox.fault({ path: '/v1/jobs', times: 1, ...fault })
  await bench.ledger.query('UPDATE sume_intents SET due_at = NOW(3), polls = 0')
  const worker = await startWorker({ RECONCILE_PER_SECOND: '2' })
  await waitFor('Sume to be away', () =>
    worker.seen('intent:reconciled').some(({ outcome }) => outcome === 'away'),
  )
  await waitFor('the round to end', () =>
    worker.seen('service:ran').some(({ report }) => report['asked'] === 1),
  )
  expect(worker.seen('intent:reconciled')).toHaveLength(1)
  const rows = await bench.rows('SELECT state, polls, leased_until FROM sume_intents')
  expect(rows).toEqual(
    Array.from({ length: 3 }, () => ({ state: 'submitted', polls: 0, leased_until: null })),
  )
  await worker.stop()
  // After the wait, which is this process's, all of them are asked about.
  await bench.ledger.query('UPDATE sume_intents SET due_at = NOW(3)')
  await startWorker()
  await Promise.all(keys.map(settled))
})

test('a job that Sume does not know is asked about until the horizon, and then lost, loudly', async () => {
  const key = randomUUID()
  await reserve(bench.ledger, { ...job(), key }, { webhookUrl: 'http://127.0.0.1:9/nobody' })
  await attach(bench.ledger, key, 'job_of_another_account', { pollAfterMs: 0 })
  const worker = await startWorker({ RECONCILE_HORIZON_MS: '2500' })
  const lost = await waitFor('the intent to be lost', async () => {
    const intent = await readIntent(bench.ledger, key)
    return intent?.state === 'lost' && intent
  })
  expect(lost.last_error).toContain('no outcome within the horizon')
  expect(lost.last_error).toContain('404')
  expect(lost.polls).toBeGreaterThan(0)
  await waitFor('it to be told', () =>
    worker.seen('intent:reconciled').some(({ outcome }) => outcome === 'lost'),
  )
  expect(
    (await readMetrics(worker.internalUrl)).get('sume_intents{state="lost"}'),
  ).toBeGreaterThanOrEqual(0)
  // Its webhook comes after all: the intent is settled, and nobody asked for that.
  await bench.record({ jobId: 'job_of_another_account' })
  await bench.ledger.query('UPDATE sume_intents SET due_at = NOW(3)')
  await settled(key)
})

test('a completed job whose result is not there yet is asked about again', async () => {
  const submitter = await startWorker({ RECONCILE_AFTER_MS: '3600000' })
  const key = await submit(job())
  const id = await submitted(key)
  await submitter.stop()
  await sandbox.fault({
    path: `/v1/jobs/${id}/result`,
    times: 1,
    do: 'status',
    status: 409,
    code: 'job_not_finished',
  })
  await bench.ledger.query('UPDATE sume_intents SET due_at = NOW(3)')
  const worker = await startWorker()
  await settled(key)
  const told = () => worker.seen('intent:reconciled').map(({ outcome }) => outcome)
  await expect.poll(told).toEqual(['open', 'first'])
})

test('a completed job whose result stays away is not lost at the horizon: its follow-up learns that it has ended', async () => {
  const submitter = await startWorker({ RECONCILE_AFTER_MS: '3600000' })
  const key = await submit(job())
  const id = await submitted(key)
  await submitter.stop()
  await sandbox.fault({ path: `/v1/jobs/${id}/result`, times: 1000, do: 'status', status: 404 })
  await bench.ledger.query('UPDATE sume_intents SET due_at = NOW(3)')
  const worker = await startWorker({ RECONCILE_HORIZON_MS: '2000' })
  await settled(key)
  await waitFor('the follow-up', () => worker.got.length === 1)
  expect(worker.got[0]).toMatchObject({
    sumeId: id,
    event: 'job.completed',
    payload: { result: {} },
  })
})

test('a job that was submitted elsewhere and adopted reaches its follow-up', async () => {
  const answer = await fetch(`${sandbox.url}/v1/image-router/generate`, {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/image', sandbox: plan() }),
  })
  const { data } = (await answer.json()) as { data: { job: { id: string } } }
  const sumeId = data.job.id
  await adoptIntent(bench.ledger, { key: `adopted:${sumeId}`, kind: 'job', sumeId, pollAfterMs: 0 })
  const worker = await startWorker()
  await waitFor('the follow-up', () => worker.got.length === 1)
  expect(worker.got[0]).toMatchObject({ sumeId, intent: { key: `adopted:${sumeId}`, body: null } })
})

test('Redis away: the outcome is in the ledger all the same, and the sweeper enqueues it when Redis is back', async () => {
  const redis = await openTcpProxy(bench.redisUrl)
  await using away = await openBench({ redisUrl: redis.url })
  const done: string[] = []
  await away.startWorker(
    { '*': (event) => void done.push(event.sumeId) },
    { ...settings(), ENQUEUE_GRACE_MS: '100', SWEEP_EVERY_MS: '200' },
  )
  redis.swallowRequests()
  redis.cut()
  const { key, ...rest } = job()
  await reserve(away.ledger, { key, ...rest }, { webhookUrl: 'http://127.0.0.1:9/nobody' })
  const intent = await waitFor('the intent to be settled', async () => {
    const found = await readIntent(away.ledger, key)
    return found?.state === 'settled' && found
  })
  const [event] = await findEvents(away.ledger, intent.sume_id ?? '')
  expect(event).toMatchObject({ state: 'claimed', source: 'poll' })
  expect(done).toEqual([])
  redis.mend()
  redis.cut()
  await away.reached(event?.dedupe_key ?? '', 'done')
  expect(done).toEqual([intent.sume_id])
  await redis.close()
})
