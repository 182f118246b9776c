import { createHash } from 'node:crypto'
import { findEvents, quarantineBody } from '@sume-inbox/shared/ledger'
import {
  jobBody,
  openTestDatabase,
  servers,
  type TestDatabase,
  testPrefix,
} from '@sume-inbox/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sume } from './sume.ts'

let database: TestDatabase
let env: Record<string, string>

beforeEach(async () => {
  database = await openTestDatabase()
  env = { DATABASE_URL: database.url, REDIS_URL: servers().redisUrl, QUEUE_PREFIX: testPrefix() }
})
afterEach(() => database.drop())

const nameOf = (body: Buffer) => createHash('sha256').update(body).digest('hex')
const nonsense = Buffer.from('{"prompt":"a secret wish"}')

test('list names the bodies and shows none; show needs --body', async () => {
  expect((await sume(['quarantine', 'list'], env)).stdout).toBe('nothing in quarantine\n')
  await quarantineBody(database.ledger, nonsense, 'no usable event')
  await quarantineBody(database.ledger, nonsense, 'no usable event')
  const listed = await sume(['quarantine', 'list'], env)
  expect(listed.stdout).toMatch(
    new RegExp(`${nameOf(nonsense).slice(0, 12)} +no usable event +${nonsense.length} +2 `),
  )
  const bare = await sume(['quarantine', 'show', nameOf(nonsense).slice(0, 4)], env)
  expect(bare.stdout).toContain(nameOf(nonsense))
  for (const { stdout } of [listed, bare]) expect(stdout).not.toContain('secret wish')
  const whole = await sume(['quarantine', 'show', nameOf(nonsense), '--body'], env)
  expect(whole.stdout).toContain(nonsense.toString())
  const json = await sume(['quarantine', 'show', nameOf(nonsense), '--body', '--json'], env)
  const { body } = JSON.parse(json.stdout) as { body: string }
  expect(Buffer.from(body, 'base64').equals(nonsense)).toBe(true)
})

test('replay lets in what is an event by now and leaves the rest, with its reason', async () => {
  const { jobId, body } = jobBody()
  await quarantineBody(database.ledger, body, 'kind unclear')
  await quarantineBody(database.ledger, nonsense, 'kind unclear')
  const one = await sume(['quarantine', 'replay', nameOf(nonsense).slice(0, 8)], env)
  expect(one.code).toBe(1)
  expect(one.stdout).toContain('stayed, no usable event')
  const all = await sume(['quarantine', 'replay', '--all', '--why', 'upgraded'], env)
  expect(all.code).toBe(0)
  expect(all.stdout).toContain(`${nameOf(body).slice(0, 12)}: ${jobId}, accepted\n`)
  expect(all.stdout).toContain('1 entered, 1 stayed')
  expect(await findEvents(database.ledger, jobId)).toMatchObject([{ state: 'claimed' }])
  expect((await sume(['show', jobId], env)).stdout).toContain('released by')
})

test.each([
  [['show', 'ffff'], 'no body in quarantine begins with ffff'],
  [['show', 'xyz'], 'expected 4 to 64 hex digits'],
  [['replay'], 'expected bodies, or --all'],
  [['replay', 'ffff', '--reason', 'x'], '--reason goes with --all'],
  [['list', '--limit', '0'], 'expected a whole number'],
  [['lst'], 'Did you mean list?'],
])('quarantine %j exits 1 and says what was expected', async (args, said) => {
  const ran = await sume(['quarantine', ...args], env)
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain(said)
})
