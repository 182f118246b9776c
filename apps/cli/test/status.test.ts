import { reserve } from '@sume-inbox/shared/intents'
import { quarantineBody, settleDone } from '@sume-inbox/shared/ledger'
import { openProducer } from '@sume-inbox/shared/queues'
import {
  jobBody,
  openTestDatabase,
  runBody,
  servers,
  type TestDatabase,
  testPrefix,
} from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claim, die, record } from './ledger.ts'
import { closedPort, sume } from './sume.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await openTestDatabase()
  const { ledger } = database
  for (const jobId of ['job_older', 'job_newer', 'job_done']) {
    await record(ledger, jobBody({ jobId }).body)
  }
  const failed = { event: 'job.failed', status: 'ERROR' }
  for (const jobId of ['job_error', 'job_dead']) {
    await record(ledger, jobBody({ jobId, ...failed }).body)
  }
  await record(ledger, runBody({ runId: 'run_1', requestId: 'req_1' }).body)
  await record(ledger, jobBody({ jobId: 'job_newer', ...failed }).body)
  await record(ledger, jobBody({ jobId: 'job_newer' }).body)
  await settleDone(ledger, await claim(ledger, 'job_done'))
  await die(ledger, 'job_dead', 'boom \u001b[31mred\nsecond line')
  await claim(ledger, 'run:req_1')
  await reserve(
    ledger,
    { key: 'order-1', path: '/v1/x', body: {} },
    { webhookUrl: 'https://x.example.com/' },
  )
  await quarantineBody(ledger, Buffer.from('?'), 'not JSON')
  await ledger.query(
    "UPDATE sume_events SET first_seen = first_seen - INTERVAL 3 HOUR, due_at = NOW(3) - INTERVAL 2 MINUTE WHERE dedupe_key = 'job_older'",
  )
})
afterAll(() => database.drop())

const status = (...args: string[]) => sume(['status', ...args], { DATABASE_URL: database.url })

test('--json counts by state, kind and status, and lists claimed events ERROR first, the oldest first', async () => {
  const ran = await status('--json')
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  const told = JSON.parse(ran.stdout) as {
    counts: unknown[]
    claimed: { dedupe_key: string }[]
    dead: { dedupe_key: string; last_error: string }[]
    redelivered: unknown
    quarantine: unknown
    lag: { due: number; longestS: number }
    queue: unknown
    intents: unknown
  }
  const sorted = (counts: unknown[]) => counts.map((count) => JSON.stringify(count)).sort()
  expect(sorted(told.counts)).toEqual(
    sorted([
      { state: 'claimed', kind: 'job', status: 'ERROR', events: 1 },
      { state: 'claimed', kind: 'job', status: 'OK', events: 2 },
      { state: 'claimed', kind: 'run', status: 'OK', events: 1 },
      { state: 'dead', kind: 'job', status: 'ERROR', events: 1 },
      { state: 'done', kind: 'job', status: 'OK', events: 1 },
    ]),
  )
  const claimed = told.claimed.map((event) => event.dedupe_key)
  expect(claimed).toEqual(['job_error', 'job_older', 'job_newer', 'run:req_1'])
  expect(told.dead.map((event) => event.dedupe_key)).toEqual(['job_dead'])
  expect(told.redelivered).toEqual({ events: 1, mostDeliveries: 3, diverged: 1 })
  expect(told.quarantine).toEqual([{ reason: 'not JSON', bodies: 1, deliveries: 1 }])
  expect(told.intents).toContainEqual({ state: 'pending', intents: 1, oldestS: expect.any(Number) })
  expect(told.intents).toContainEqual({ state: 'lost', intents: 0, oldestS: 0 })
  expect(told.lag.due).toBe(1)
  expect(told.lag.longestS).toBeGreaterThanOrEqual(120)
  expect(told.queue).toEqual({ unknown: 'REDIS_URL is not set' })
  expect(ran.stdout).not.toContain('payload')
})

test('for people: ages, what happens next, the first line of the last error without its escapes', async () => {
  const { code, stdout } = await status()
  expect(code).toBe(0)
  expect(stdout).toMatch(/job_older +job\.completed +OK +3 h +0 +due for 2 min/)
  expect(stdout).toMatch(/job_newer .*in the queue/)
  expect(stdout).toMatch(/run:req_1 .*running/)
  expect(stdout).toMatch(/job_dead .*boom \ufffd\[31mred\n/)
  expect(stdout).not.toContain('\u001b')
  expect(stdout).toContain('1 events, at most 3 times, 1 with another status later')
  expect(stdout).toContain('1 bodies (1 not JSON)')
  expect(stdout).toMatch(/Intents: 1 pending \(the oldest for \d+ s\)\n/)
  expect(stdout).toMatch(/Lag: 1 events are due, one of them for \d min/)
})

test('the queue is told where it is known, and Redis away does not hide the ledger', async () => {
  const env = { DATABASE_URL: database.url, QUEUE_PREFIX: testPrefix() }
  const producer = openProducer({
    redisUrl: servers().redisUrl,
    prefix: env.QUEUE_PREFIX,
    maxAttempts: 10,
    onError: () => undefined,
  })
  await producer.enqueue({ dedupeKey: 'job_older', status: 'OK' })
  await producer.enqueue({ dedupeKey: 'job_error', status: 'ERROR' })
  await producer.close()
  const asked = await sume(['status', '--json'], { ...env, REDIS_URL: servers().redisUrl })
  expect(JSON.parse(asked.stdout)).toMatchObject({
    queue: { waiting: 2, active: 0, delayed: 0, failed: 0 },
  })
  const port = await closedPort()
  const away = await sume(['status'], { ...env, REDIS_URL: `redis://127.0.0.1:${port}` })
  expect(away.code).toBe(0)
  expect(away.stdout).toContain(`Queue: not known: Redis at 127.0.0.1:${port} cannot do it now`)
  expect(away.stdout).toContain('job_older')
})

test('an empty ledger, and one without tables', async () => {
  const empty = await openTestDatabase()
  const bare = await openTestDatabase({ migrated: false })
  try {
    const ran = await sume(['status'], { DATABASE_URL: empty.url })
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('no events yet') })
    const refused = await sume(['status'], { DATABASE_URL: bare.url })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('sume migrate') })
  } finally {
    await empty.drop()
    await bare.drop()
  }
})
