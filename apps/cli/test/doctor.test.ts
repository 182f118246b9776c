import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { openTestDatabase, servers, type TestDatabase, testPrefix } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closedPort, sume } from './sume.ts'

let database: TestDatabase
let env: Record<string, string>

beforeAll(async () => {
  database = await openTestDatabase()
  env = {
    DATABASE_URL: database.url,
    REDIS_URL: servers().redisUrl,
    QUEUE_PREFIX: testPrefix(),
    SUME_WEBHOOK_SECRETS: 'whsec_cli_test_0123456789',
    FOLLOW_UPS: import.meta.filename,
    SUME_API_KEY: 'cli test key, hush-hush',
    SUME_WEBHOOK_URL: 'https://inbox.example/webhooks/sume',
  }
})
afterAll(() => database.drop())

test('servers and settings that can be used pass every check', async () => {
  const ran = await sume(['doctor'], env)
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(ran.stdout).not.toMatch(/^(warn|fail)/m)
  for (const checked of [
    'the settings can be read',
    'FOLLOW_UPS is there',
    'SUME_API_KEY and SUME_WEBHOOK_URL are set',
    'MySQL answers',
    'is supported',
    'READ COMMITTED',
    'max_allowed_packet',
    's apart',
    'is migrated',
    'Redis answers',
    'evicts nothing',
    'append-only file',
  ]) {
    expect(ran.stdout).toContain(checked)
  }
})

test('MySQL away fails with the fix; Redis is checked all the same', async () => {
  const DATABASE_URL = `mysql://root:hush-hush@127.0.0.1:${await closedPort()}/inbox`
  const ran = await sume(['doctor'], { ...env, DATABASE_URL })
  expect(ran.code).toBe(1)
  expect(ran.stdout).toMatch(
    /^fail {2}MySQL at 127\.0\.0\.1:\d+ cannot do it now .*\n {6}check that/m,
  )
  expect(ran.stdout).toContain('ok    Redis answers')
  expect(ran.stdout + ran.stderr).not.toContain('hush-hush')
})

test('Redis away fails with the fix; MySQL is checked all the same', async () => {
  const REDIS_URL = `redis://:hush-hush@127.0.0.1:${await closedPort()}`
  const ran = await sume(['doctor'], { ...env, REDIS_URL })
  expect(ran.code).toBe(1)
  expect(ran.stdout).toMatch(
    /^fail {2}Redis at 127\.0\.0\.1:\d+ cannot do it now \(ECONNREFUSED\)/m,
  )
  expect(ran.stdout).toContain('ok    MySQL answers')
  expect(ran.stdout + ran.stderr).not.toContain('hush-hush')
})

test('servers that take the connection and never answer fail within their time', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  try {
    const ran = await sume(['doctor'], {
      ...env,
      DATABASE_URL: `mysql://root@127.0.0.1:${port}/inbox`,
      REDIS_URL: `redis://127.0.0.1:${port}`,
      DATABASE_TIMEOUT_MS: '500',
    })
    expect(ran.code).toBe(1)
    expect(ran.stdout.match(/^fail/gm)).toHaveLength(2)
  } finally {
    silent.close()
  }
})

test('a database without tables fails and names the command', async () => {
  const bare = await openTestDatabase({ migrated: false })
  const ran = await sume(['doctor'], { ...env, DATABASE_URL: bare.url })
  await bare.drop()
  expect(ran.code).toBe(1)
  expect(ran.stdout).toMatch(/^fail {2}\d+ migrations are missing\n {6}run: sume migrate$/m)
})

test('a table in the way fails and says what to do', async () => {
  const taken = await openTestDatabase({ migrated: false })
  await taken.ledger.query('CREATE TABLE sume_jobs (job_id VARCHAR(64) PRIMARY KEY)')
  const ran = await sume(['doctor'], { ...env, DATABASE_URL: taken.url })
  await taken.drop()
  expect(ran.code).toBe(1)
  expect(ran.stdout).toMatch(/^fail .*table sume_jobs/m)
  expect(ran.stdout).toContain('RENAME TABLE')
})

test('each wrong setting is a line, without its value; the servers are checked all the same', async () => {
  const ran = await sume(['doctor', '--json'], {
    ...env,
    SUME_WEBHOOK_SECRETS: 'too-short-x',
    FOLLOW_UPS: '/not/there.ts',
    SWEEP_EVERY_MS: 'often',
  })
  expect(ran.code).toBe(1)
  const findings = JSON.parse(ran.stdout) as { level: string; what: string; fix?: string }[]
  const failed = findings.filter(({ level }) => level === 'fail')
  expect(new Set(failed.map(({ what }) => what.split(':')[0]))).toEqual(
    new Set(['FOLLOW_UPS', 'SUME_WEBHOOK_SECRETS', 'SWEEP_EVERY_MS']),
  )
  for (const { fix } of failed) expect(fix).toMatch(/\w/)
  expect(findings.map(({ what }) => what)).toContain('MySQL answers')
  expect(ran.stdout).not.toContain('too-short-x')
})

test.each([
  ['SUME_API_KEY', 'workers neither submit intents nor ask Sume about them'],
  ['SUME_WEBHOOK_URL', 'its end is found by asking'],
] as const)('without %s it warns, and passes', async (name, consequence) => {
  const { [name]: _, ...without } = env
  const ran = await sume(['doctor'], without)
  expect(ran.code).toBe(0)
  expect(ran.stdout).toMatch(new RegExp(`^warn {2}${name} is not set: .*${consequence}`, 'm'))
  expect(ran.stdout).not.toContain('hush-hush')
})

test('a body limit that the server cannot take fails', async () => {
  const ran = await sume(['doctor'], { ...env, BODY_LIMIT_BYTES: String(64 * 1024 * 1024) })
  expect(ran.code).toBe(1)
  expect(ran.stdout).toMatch(/^fail {2}max_allowed_packet/m)
})
