import { attach, reserve } from '@sume-inbox/shared/intents'
import { replayEvents } from '@sume-inbox/shared/ledger'
import { jobBody, openTestDatabase, runBody, type TestDatabase } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { die, record } from './ledger.ts'
import { sume } from './sume.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await openTestDatabase()
  const { ledger } = database
  await record(ledger, jobBody({ jobId: 'job_1234-abcd', prompt: 'a red fox' }).body)
  await record(ledger, jobBody({ jobId: 'job_own', request_id: 'req_of_a_job' }).body)
  await record(ledger, runBody({ runId: 'run_77', requestId: 'req_a' }).body)
  await record(ledger, runBody({ runId: 'run_77', requestId: 'req_b' }).body)
  await die(ledger, 'job_1234-abcd', 'the mail server said no')
  await replayEvents(ledger, 'replay', ['job_1234-abcd'], { by: 'ann', why: 'mail is back' })
})
afterAll(() => database.drop())

const show = (...args: string[]) => sume(['show', ...args], { DATABASE_URL: database.url })
const keys = async (id: string) => {
  const { stdout } = await show(id, '--json')
  const { events } = JSON.parse(stdout) as { events: { event: { dedupe_key: string } }[] }
  return events.map((story) => story.event.dedupe_key)
}

test('the story has the row, the attempts and the replays, and no payload', async () => {
  const { code, stdout } = await show('job_1234-abcd')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^job_1234-abcd {2}job\.completed {2}OK {2}claimed\n/)
  expect(stdout).toMatch(/1 {2}dead {2}.* w1 {2}the mail server said no/)
  expect(stdout).toContain('replay by ann: mail is back')
  expect(stdout).not.toContain('a red fox')
})

test('--payload shows the body as it came', async () => {
  const raw = jobBody({ jobId: 'job_1234-abcd', prompt: 'a red fox' }).body.toString()
  expect((await show('job_1234-abcd', '--payload')).stdout).toContain(raw)
  const { stdout } = await show('job_1234-abcd', '--payload', '--json')
  expect(JSON.parse(stdout)).toMatchObject({
    intent: null,
    events: [
      {
        payload: raw,
        attempts: [{ attempt: 1, outcome: 'dead', worker: 'w1' }],
        replays: [{ what: 'replay', replayed_by: 'ann' }],
      },
    ],
  })
  expect((await show('job_1234-abcd', '--json')).stdout).not.toContain('payload')
})

test('an event is found by its key, its request id and its job id; a run shows all its events', async () => {
  expect(await keys('run:req_a')).toEqual(['run:req_a'])
  expect(await keys('req_b')).toEqual(['run:req_b'])
  expect(await keys('run_77')).toEqual(['run:req_a', 'run:req_b'])
  expect(await keys('req_of_a_job')).toEqual(['job_own'])
})

test('any of the three ids shows the intent with its event: the key, the job id, a run’s request id', async () => {
  const { ledger } = database
  const intent = { key: 'order-4711', path: '/v1/formats/f/runs', body: { prompt: 'a blue fox' } }
  await reserve(ledger, intent, { webhookUrl: 'https://x.example.com/' })
  const pending = await show('order-4711')
  expect(pending.stdout).toMatch(/^intent order-4711 {2}pending/)
  expect(pending.stdout).toContain('no event has come of it yet')
  await attach(ledger, 'order-4711', 'run_4711')
  await record(ledger, runBody({ runId: 'run_4711', requestId: 'req_4711' }).body)
  for (const id of ['order-4711', 'run_4711', 'req_4711', 'run:req_4711']) {
    const { code, stdout } = await show(id)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^intent order-4711 {2}submitted/)
    expect(stdout).toMatch(/\nrun:req_4711 {2}run\.completed/)
    expect(stdout).not.toContain('a blue fox')
  }
  const near = await show('order-4712')
  expect(near).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('did you mean order-4711?'),
  })
})

test.each([
  ['job_1243-abcd', 'job_1234-abcd'],
  ['1234-abcd', 'job_1234-abcd'],
  ['job_12', 'job_1234-abcd'],
  ['run_78', 'run_77'],
])('the unknown id %s exits 1 and offers %s', async (id, near) => {
  const ran = await show(id)
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain(`did you mean ${near}?`)
})

test('an id like none exits 1 without a guess, and so does one that cannot be an id', async () => {
  const ran = await show('something-else-altogether')
  expect(ran.code).toBe(1)
  expect(ran.stderr).not.toContain('did you mean')
  const refused = await Promise.all(['jöb_1', 'a b', 'x'.repeat(256)].map((odd) => show(odd)))
  for (const { code, stderr } of refused) {
    expect(code).toBe(1)
    expect(stderr).toContain('expected an id')
  }
})
