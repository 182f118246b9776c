import { openProducer } from '@sume-inbox/shared/queues'
import {
  jobBody,
  openTestDatabase,
  servers,
  type TestDatabase,
  testPrefix,
} from '@sume-inbox/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { record } from './ledger.ts'
import { closedPort, sume } from './sume.ts'

let database: TestDatabase
let env: Record<string, string>

beforeEach(async () => {
  database = await openTestDatabase()
  env = {
    DATABASE_URL: database.url,
    REDIS_URL: servers().redisUrl,
    QUEUE_PREFIX: testPrefix(),
    SWEEP_EVERY_MS: '3600000',
  }
})
afterEach(() => database.drop())

const makeDue = () =>
  database.ledger.query('UPDATE sume_events SET due_at = NOW(3) - INTERVAL 1 SECOND')

test('a lost event is put back with its reason, and what is in the queue is left alone', async () => {
  await record(database.ledger, jobBody({ jobId: 'job_lost' }).body)
  await record(database.ledger, jobBody({ jobId: 'job_queued' }).body)
  const producer = openProducer({
    redisUrl: servers().redisUrl,
    prefix: env['QUEUE_PREFIX'] ?? '',
    maxAttempts: 10,
    onError: () => undefined,
  })
  await producer.enqueue({ dedupeKey: 'job_queued', status: 'OK' })
  await producer.close()
  await makeDue()

  const first = await sume(['sweep'], env)
  expect(first).toEqual({
    code: 0,
    stdout: 'put back job_lost: the queue did not know it\n2 due, 1 put back\n',
    stderr: '',
  })
  await makeDue()
  const second = await sume(['sweep', '--json'], env)
  expect(JSON.parse(second.stdout)).toEqual({ due: 2, restored: [] })
})

test('an event that is not due is not looked at', async () => {
  await record(database.ledger, jobBody().body)
  expect((await sume(['sweep'], env)).stdout).toBe('0 due, 0 put back\n')
})

test('more than one batch is swept in one go, ERROR first', async () => {
  for (let n = 0; n < 120; n++) await record(database.ledger, jobBody().body)
  const failed = { jobId: 'job_error', event: 'job.failed', status: 'ERROR' }
  await record(database.ledger, jobBody(failed).body)
  await makeDue()
  const { stdout } = await sume(['sweep', '--json'], env)
  const swept = JSON.parse(stdout) as { due: number; restored: { dedupeKey: string }[] }
  expect(swept.due).toBe(121)
  expect(swept.restored).toHaveLength(121)
  expect(swept.restored[0]?.dedupeKey).toBe('job_error')
})

test('what is due again before the last one’s turn is swept once: it ends, however many there are', async () => {
  for (let n = 0; n < 1500; n += 50)
    await Promise.all(Array.from({ length: 50 }, () => record(database.ledger, jobBody().body)))
  await makeDue()
  const { code, stdout } = await sume(['sweep', '--json'], { ...env, SWEEP_EVERY_MS: '100' })
  expect(code).toBe(0)
  const swept = JSON.parse(stdout) as { due: number; restored: { dedupeKey: string }[] }
  expect(swept.due).toBe(1500)
})

test('Redis away exits 1, says so, and the event comes round again', async () => {
  await record(database.ledger, jobBody({ jobId: 'job_1' }).body)
  await makeDue()
  const port = await closedPort()
  const away = await sume(['sweep'], { ...env, REDIS_URL: `redis://:hush-hush@127.0.0.1:${port}` })
  expect(away.code).toBe(1)
  expect(away.stderr).toContain(`Redis at 127.0.0.1:${port} cannot do it now`)
  expect(away.stderr).not.toMatch(/hush-hush|\n\s+at /)
  await makeDue()
  expect((await sume(['sweep'], env)).stdout).toContain('put back job_1')
})
