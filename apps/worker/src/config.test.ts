import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

const least = {
  DATABASE_URL: 'mysql://user:hunter2hunter2@127.0.0.1/inbox',
  REDIS_URL: 'redis://127.0.0.1',
  FOLLOW_UPS: './follow-ups.ts',
}

test('the pool grows with the concurrency unless its size is set', () => {
  expect(readConfig(least)).toMatchObject({ WORKER_CONCURRENCY: 16, DATABASE_POOL_SIZE: 22 })
  const set = { WORKER_CONCURRENCY: '40', DATABASE_POOL_SIZE: '50' }
  expect(readConfig({ ...least, WORKER_CONCURRENCY: '40' })).toMatchObject({
    DATABASE_POOL_SIZE: 46,
  })
  expect(readConfig({ ...least, ...set })).toMatchObject({ DATABASE_POOL_SIZE: 50 })
})

test('a pool too small for the concurrency and a cap under the base are refused with their fixes', () => {
  const env = {
    ...least,
    WORKER_CONCURRENCY: '20',
    DATABASE_POOL_SIZE: '21',
    BACKOFF_MS: '5000',
    BACKOFF_CAP_MS: '10',
  }
  expect(() => readConfig(env)).toThrow(/DATABASE_POOL_SIZE: .*at least 22/)
  expect(() => readConfig(env)).toThrow('BACKOFF_CAP_MS: is smaller than BACKOFF_MS')
  expect(() => readConfig(env)).not.toThrow('hunter2')
})

test('a lease longer than the time limit makes sense', () => {
  const env = { ...least, LEASE_MS: '30000', ATTEMPT_TIMEOUT_MS: '1000' }
  expect(readConfig(env)).toMatchObject({ LEASE_MS: 30_000, ATTEMPT_TIMEOUT_MS: 1000 })
})

test('keys are kept for ever unless asked otherwise, and never shorter than Sume may send again or than payloads', () => {
  expect(readConfig(least)).toMatchObject({ RETAIN_PAYLOAD_DAYS: 30 })
  expect(readConfig(least).RETAIN_KEY_DAYS).toBeUndefined()
  expect(() => readConfig({ ...least, RETAIN_KEY_DAYS: '89' })).toThrow(
    /RETAIN_KEY_DAYS: .*from 90/,
  )
  const env = { ...least, RETAIN_KEY_DAYS: '100', RETAIN_PAYLOAD_DAYS: '101' }
  expect(() => readConfig(env)).toThrow('RETAIN_KEY_DAYS: is smaller than RETAIN_PAYLOAD_DAYS')
})

test('without an API key nothing of Sume is needed; what is set is checked', () => {
  expect(readConfig(least)).toMatchObject({
    SUME_API_URL: 'https://api.open.sume.com',
    SUME_API_AUTH: 'bearer',
    SUME_JOB_PATH: '/v1/jobs/{id}',
    SUBMIT_CONCURRENCY: 4,
    RECONCILE_AFTER_MS: 120_000,
    RECONCILE_HORIZON_MS: 604_800_000,
  })
  expect(readConfig(least).SUME_API_KEY).toBeUndefined()
  const wrong = {
    ...least,
    SUME_API_URL: 'ftp://x',
    SUME_API_AUTH: 'basic',
    SUME_JOB_PATH: '/v1/jobs',
    SUME_RUN_PATH: 'runs/{id}',
    SUME_WEBHOOK_URL: 'inbox.example.com',
    INTENTS_TOKEN: 'short',
    SUBMIT_CONCURRENCY: '0',
  }
  let said = ''
  try {
    readConfig(wrong)
  } catch (error) {
    said = String(error)
  }
  for (const name of Object.keys(wrong).filter((name) => !(name in least)))
    expect(said).toContain(`- ${name}: `)
})

test('a horizon before the first question is refused', () => {
  const env = { ...least, RECONCILE_AFTER_MS: '2000', RECONCILE_HORIZON_MS: '1000' }
  expect(() => readConfig(env)).toThrow('RECONCILE_HORIZON_MS: is smaller than RECONCILE_AFTER_MS')
})
