import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findEvents, readIntent, readIntentBody } from '@sume-inbox/shared/ledger'
import {
  openSandbox,
  openTestDatabase,
  type SandboxProcess,
  servers,
  startApp,
  type TestDatabase,
  testPrefix,
} from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closedPort, sume } from './sume.ts'

let database: TestDatabase
let sandbox: SandboxProcess
beforeAll(async () => {
  database = await openTestDatabase()
  sandbox = await openSandbox()
})
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]()
  await database.drop()
})

const WEBHOOK = 'http://127.0.0.1:9/nobody'
const PATH = '/v1/image-router/generate'
const env = (more: Record<string, string> = {}) => ({
  DATABASE_URL: database.url,
  SUME_WEBHOOK_URL: WEBHOOK,
  ...more,
})
const submit = (args: string[], more: Record<string, string> = {}) =>
  sume(['submit', ...args], env(more))
const folder = mkdtempSync(join(tmpdir(), 'submit-'))
const file = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

test('flags or a file make an intent; the same again makes none', async () => {
  const args = ['--path', PATH, '--body', '{"model":"m","prompt":"a red fox"}']
  const first = await submit([...args, '--json'])
  expect(first.code).toBe(0)
  const { key, intent } = JSON.parse(first.stdout) as { key: string; intent: object }
  expect(intent).toMatchObject({ state: 'pending', path: PATH, kind: 'job' })
  expect(first.stdout).not.toContain('red fox')
  expect((await submit(args)).stdout).toBe(`${key}: there already; nothing more will be paid\n`)
  const written = file(
    'order.json',
    JSON.stringify({ path: PATH, body: { model: 'm', prompt: 'a red fox' } }),
  )
  expect((await submit([written])).stdout).toContain(`${key}: there already`)
  expect((await submit([written, '--key', 'order-1'])).stdout).toBe('order-1: reserved\n')
  expect(JSON.parse((await readIntentBody(database.ledger, 'order-1')) ?? '')).toEqual({
    model: 'm',
    prompt: 'a red fox',
    mode: 'webhook',
    webhook_url: WEBHOOK,
  })
})

test('a key used for another body is refused with both hashes, and no prompt', async () => {
  await submit(['--key', 'order-2', '--path', PATH, '--body', '{"model":"m"}'])
  const ran = await submit(['--key', 'order-2', '--path', PATH, '--body', '{"model":"a red fox"}'])
  expect(ran.code).toBe(1)
  expect(ran.stderr).toMatch(
    /order-2 was used with another body.*sha256 [0-9a-f]{64}.*sha256 [0-9a-f]{64}/,
  )
  expect(ran.stderr).not.toContain('red fox')
})

test.each([
  [[], 'expected a file, or --path and --body'],
  [['--path', PATH], 'expected a file, or --path and --body'],
  [['--path', PATH, '--body', '{secret'], '--body: that is no JSON'],
  [['--path', PATH, '--body', '[1]'], 'body: a JSON object'],
  [['--path', 'v1/x', '--body', '{}'], "path: Sume's path from its first slash"],
  [['--path', PATH, '--body', '{}', '--key', 'a b'], 'key: 1 to 255'],
  [['--path', PATH, '--body', '{}', '--wait', '0'], 'from 1 to 999999'],
  [['/not/there.json'], 'cannot be read (ENOENT)'],
])('%j exits 1 and says what was expected', async (args, says) => {
  const ran = await submit(args)
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain(says)
  expect(ran.stderr).not.toContain('secret')
})

test('a file with a field that is none names those that are', async () => {
  const ran = await submit([file('odd.json', '{"path":"/x","prompt":"p","body":{}}')])
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('unknown field prompt') })
})

test('without a webhook_url anywhere it is refused, with the fix', async () => {
  const ran = await submit(['--path', PATH, '--body', '{}'], { SUME_WEBHOOK_URL: '' })
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('set SUME_WEBHOOK_URL') })
})

const workerEnv = (prefix: string) => ({
  DATABASE_URL: database.url,
  REDIS_URL: servers().redisUrl,
  QUEUE_PREFIX: prefix,
  FOLLOW_UPS: join(import.meta.dirname, 'fixtures/follow-ups.ts'),
  SUME_API_URL: sandbox.url,
  SUME_API_KEY: 'any',
  RECONCILE_AFTER_MS: '100',
})

test('--wait shows the way to the end of the follow-up: exit 0 when done, 1 when dead or rejected', async () => {
  await using _worker = await startApp('worker', workerEnv(testPrefix()))
  const body = (more: object) =>
    JSON.stringify({ model: 'm', sandbox: { webhook: 'drop', run_ms: 0, ...more } })
  const good = await submit(['--key', 'good', '--path', PATH, '--body', body({}), '--wait', '30'])
  expect(good.code).toBe(0)
  expect(good.stderr).toMatch(/submitted as job_/)
  expect(good.stderr).toMatch(/job\.completed by poll, done/)
  const bad = await submit([
    '--key',
    'bad',
    '--path',
    PATH,
    '--body',
    body({ outcome: 'failed' }),
    '--wait',
    '30',
    '--json',
  ])
  expect(bad.code).toBe(1)
  expect(JSON.parse(bad.stdout)).toMatchObject({ event: { state: 'dead', event: 'job.failed' } })
  const refused = await submit([
    '--key',
    'refused',
    '--path',
    '/v1/nothing',
    '--body',
    '{}',
    '--wait',
    '30',
  ])
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('rejected: POST /v1/nothing: 404 not_found')
})

test('--wait gives up at its time, says that nothing is lost, and exits 1', async () => {
  const ran = await submit(['--key', 'nobody-sends', '--path', PATH, '--body', '{}', '--wait', '1'])
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain('nothing is lost: sume show nobody-sends')
})

test('reconcile asks now: due ones, and those that are named, whatever their schedule', async () => {
  const fresh = await openTestDatabase()
  try {
    const { ledger } = fresh
    const settings = {
      DATABASE_URL: fresh.url,
      REDIS_URL: servers().redisUrl,
      QUEUE_PREFIX: testPrefix(),
      SUME_API_URL: sandbox.url,
      SUME_API_KEY: 'any_key_of_the_tests',
    }
    const paid = async () => {
      const answer = await fetch(`${sandbox.url}${PATH}`, {
        method: 'POST',
        headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', sandbox: { run_ms: 0 } }),
      })
      return ((await answer.json()) as { data: { job: { id: string } } }).data.job.id
    }
    const id = await paid()
    await sume(['intents', 'adopt', id], settings)
    const idle = await sume(['reconcile'], settings)
    expect(idle).toMatchObject({ code: 0, stdout: expect.stringContaining('0 asked about') })
    const asked = await sume(['reconcile', id], settings)
    expect(asked.code).toBe(0)
    expect(asked.stdout).toContain(`adopted:${id} (${id}): job.completed; no webhook had come`)
    expect(await findEvents(ledger, id)).toMatchObject([{ source: 'poll', state: 'claimed' }])
    expect(await readIntent(ledger, `adopted:${id}`)).toMatchObject({ state: 'settled' })
    const over = await sume(['reconcile', id, '--json'], settings)
    expect(over).toMatchObject({ code: 0, stderr: expect.stringContaining('it is settled') })
    expect(JSON.parse(over.stdout)).toMatchObject({ asked: 0, intents: [] })

    const other = await paid()
    await sume(['intents', 'adopt', other], settings)
    const port = await closedPort()
    const away = await sume(['reconcile', other], {
      ...settings,
      SUME_API_URL: `http://127.0.0.1:${port}`,
    })
    expect(away).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Sume cannot be asked now'),
    })
    expect(away.stdout + away.stderr).not.toContain('any_key_of_the_tests')
  } finally {
    await fresh.drop()
  }
})

test('reconcile without an API key exits 2 and names it', async () => {
  const ran = await sume(['reconcile'], env({ REDIS_URL: servers().redisUrl }))
  expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('SUME_API_KEY') })
})
