import { randomBytes } from 'node:crypto'
import { attach, reserve } from '@sume-inbox/shared/intents'
import { leasePending, readIntent, readIntentBody, refuseIntent } from '@sume-inbox/shared/ledger'
import { jobBody, openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { record } from './ledger.ts'
import { sume } from './sume.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await openTestDatabase()
})
afterEach(() => database.drop())

const webhookUrl = 'https://inbox.example.com/webhooks/sume'
const intents = (...args: string[]) => sume(['intents', ...args], { DATABASE_URL: database.url })
const reserved = async (key: string) => {
  const body = { model: 'm', prompt: 'a red fox' }
  await reserve(database.ledger, { key, path: '/v1/image-router/generate', body }, { webhookUrl })
}
const reject = async (key: string) => {
  const token = randomBytes(16)
  await leasePending(database.ledger, { token, leaseMs: 60_000, limit: 100 })
  const error = { text: 'POST /v1/x: 401 unauthorized', code: 'unauthorized', requestId: 'req_9' }
  await refuseIntent(database.ledger, { key, token }, { state: 'rejected', error })
}

test('list shows intents by state, without their bodies', async () => {
  await reserved('order-1')
  await reject('order-1')
  await reserved('order-2')
  const all = await intents('list')
  expect(all.code).toBe(0)
  expect(all.stdout).toMatch(/order-1 +rejected +job +1 +0 .*POST \/v1\/x: 401 unauthorized/)
  expect(all.stdout).toMatch(/order-2 +pending/)
  expect(all.stdout).not.toContain('red fox')
  const rejected = await intents('list', '--state', 'rejected', '--json')
  expect(JSON.parse(rejected.stdout)).toMatchObject([
    { idempotency_key: 'order-1', error_request_id: 'req_9' },
  ])
  expect((await intents('list', '--state', 'lost')).stdout).toBe('no such intent\n')
})

test('list tells both ways: intents without an event, events without an intent', async () => {
  await reserved('order-1')
  await attach(database.ledger, 'order-1', 'job_1')
  await reserved('order-2')
  await attach(database.ledger, 'order-2', 'job_2')
  await record(database.ledger, jobBody({ jobId: 'job_2' }).body)
  await record(database.ledger, jobBody({ jobId: 'job_3' }).body)
  const waiting = await intents('list', '--without-event')
  expect(waiting.stdout).toContain('order-1')
  expect(waiting.stdout).not.toContain('order-2')
  const foreign = await intents('list', '--events')
  expect(foreign.stdout).toContain('job_3')
  expect(foreign.stdout).not.toContain('job_2')
  const both = await intents('list', '--events', '--state', 'lost')
  expect(both).toMatchObject({ code: 1, stderr: expect.stringContaining('at most one of') })
})

test('show has the body only when asked, by key and by Sume’s id', async () => {
  await reserved('order-1')
  await attach(database.ledger, 'order-1', 'job_1')
  for (const id of ['order-1', 'job_1']) {
    const { code, stdout } = await intents('show', id)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^intent order-1 {2}submitted: Sume has it/)
    expect(stdout).not.toContain('red fox')
  }
  expect((await intents('show', 'job_1', '--body')).stdout).toContain('"prompt":"a red fox"')
  expect(await intents('show', 'order-2')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('did you mean order-1?'),
  })
})

test('retry sends a rejected one again with the same bytes, and nothing else', async () => {
  await reserved('order-1')
  await reject('order-1')
  await reserved('order-2')
  const body = await readIntentBody(database.ledger, 'order-1')
  const ran = await intents('retry', 'order-1', 'order-2')
  expect(ran).toMatchObject({
    code: 1,
    stdout: 'order-1: will be sent again\norder-2: not retried: it is pending, not rejected\n',
  })
  expect(await readIntent(database.ledger, 'order-1')).toMatchObject({ state: 'pending' })
  expect(await readIntentBody(database.ledger, 'order-1')).toBe(body)
  // A typing error in the second: the first is not sent either.
  await reject('order-1')
  expect((await intents('retry', 'order-1', 'nobody')).code).toBe(1)
  expect(await readIntent(database.ledger, 'order-1')).toMatchObject({ state: 'rejected' })
})

test('adopt takes a job of somebody else under care; a second time changes nothing', async () => {
  const first = await intents('adopt', 'job_77')
  expect(first.code).toBe(0)
  expect(first.stdout).toMatch(/^intent adopted:job_77 {2}submitted/)
  const again = await intents('adopt', 'job_77')
  expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('has an intent already') })
  const run = await intents('adopt', 'run_5', '--json')
  expect(JSON.parse(run.stdout)).toMatchObject({ new: true, intent: { kind: 'run' } })
  expect((await intents('adopt', 'two words')).code).toBe(1)
})
