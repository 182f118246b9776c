import { ConfigError } from '@sume-inbox/shared/runtime'
import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

const good = {
  DATABASE_URL: 'mysql://root@127.0.0.1:3306/x',
  REDIS_URL: 'redis://127.0.0.1:6379',
  SUME_WEBHOOK_SECRETS: 'whsec_test_only_0123456789',
}

const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

test('without any setting but what must be set, the defaults hold', () => {
  expect(readConfig(good)).toMatchObject({
    PORT: 8080,
    INTERNAL_HOST: '127.0.0.1',
    INTERNAL_PORT: 9080,
    BODY_LIMIT_BYTES: 1_048_576,
    DATABASE_POOL_SIZE: 16,
    DATABASE_TIMEOUT_MS: 4000,
    SUME_WEBHOOK_TOLERANCE_SECONDS: 300,
    SUME_SIGNATURE_HEADER: 'x-sume-signature',
    SUME_TIMESTAMP_HEADER: 'x-sume-timestamp',
    ENQUEUE_GRACE_MS: 15_000,
    MAX_ATTEMPTS: 10,
    QUARANTINE_MAX_ROWS: 10_000,
  })
})

test.each([
  ['an empty secret, with which anybody could sign', { SUME_WEBHOOK_SECRETS: '' }],
  ['a secret of a few letters', { SUME_WEBHOOK_SECRETS: 'hunter2' }],
  ['an empty secret beside a good one', { SUME_WEBHOOK_SECRETS: `${good.SUME_WEBHOOK_SECRETS},` }],
  ['a body limit that no packet takes', { BODY_LIMIT_BYTES: '16777216' }],
  ['a database timeout beyond five seconds', { DATABASE_TIMEOUT_MS: '5000' }],
])('%s is refused', (_, env) => {
  const [problem, ...others] = problemsOf({ ...good, ...env })
  expect(problem).toContain(Object.keys(env)[0])
  expect(others).toEqual([])
})
