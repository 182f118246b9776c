import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ConfigError, integer, readEnv, secrets, servicesSpec, url } from './env.ts'

const problemsOf = (spec: z.ZodObject, env: Record<string, string>): readonly string[] => {
  try {
    readEnv(spec, env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

test('every problem is reported at once, each with its name', () => {
  const spec = z.object({
    PORT: integer({ min: 1, max: 65_535 }),
    SUME_WEBHOOK_SECRETS: secrets('ask Sume'),
    REDIS_URL: url(['redis:'], 'for example redis://host'),
  })
  const problems = problemsOf(spec, { PORT: '0x10', SUME_WEBHOOK_SECRETS: 'short' })
  expect(problems).toEqual([
    'PORT: must be a whole number from 1 to 65535',
    'SUME_WEBHOOK_SECRETS: every secret needs at least 16 characters; ask Sume',
    'REDIS_URL: is missing; for example redis://host',
  ])
})

test.each(['', '1e3', '1.5', '-1', ' 7', 'seven', '99999999999999999999'])(
  'the number %j is refused rather than read as something else',
  (PORT) => {
    expect(problemsOf(z.object({ PORT: integer({ min: 1, max: 65_535 }) }), { PORT })).toHaveLength(
      1,
    )
  },
)

test.each(['javascript:alert(1)', 'http://host', 'redis:', 'host:6379'])(
  '%s is no Redis URL',
  (REDIS_URL) => {
    expect(problemsOf(z.object({ REDIS_URL: servicesSpec.REDIS_URL }), { REDIS_URL })).toHaveLength(
      1,
    )
  },
)

test('no problem quotes the value, which may be a secret', () => {
  const spec = z.object({
    SUME_WEBHOOK_SECRETS: secrets('ask'),
    DATABASE_URL: servicesSpec.DATABASE_URL,
  })
  const said = problemsOf(spec, {
    SUME_WEBHOOK_SECRETS: 'hunter2',
    DATABASE_URL: 'pg://u:hunter2@h/d',
  })
  expect(said).toHaveLength(2)
  expect(said.join(' ')).not.toContain('hunter2')
})

test('a list of secrets with an empty one in it is refused', () => {
  const SUME_WEBHOOK_SECRETS = `${'a'.repeat(16)},`
  expect(
    problemsOf(z.object({ SUME_WEBHOOK_SECRETS: secrets('ask') }), { SUME_WEBHOOK_SECRETS }),
  ).toHaveLength(1)
})

test('a secret comes from the file that NAME_FILE names, without its last line end', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'env-')), 'secret')
  writeFileSync(file, `${'s'.repeat(20)}\n`)
  const spec = z.object({ SUME_WEBHOOK_SECRETS: secrets('ask') })
  expect(readEnv(spec, { SUME_WEBHOOK_SECRETS_FILE: file })).toEqual({
    SUME_WEBHOOK_SECRETS: ['s'.repeat(20)],
  })
  expect(problemsOf(spec, { SUME_WEBHOOK_SECRETS_FILE: '/nowhere' })[0]).toContain('ENOENT')
  expect(
    problemsOf(spec, { SUME_WEBHOOK_SECRETS_FILE: file, SUME_WEBHOOK_SECRETS: 'x'.repeat(16) })[0],
  ).toContain('keep one')
})

test('a queue prefix without a hash tag is refused', () => {
  const spec = z.object({ QUEUE_PREFIX: servicesSpec.QUEUE_PREFIX })
  expect(readEnv(spec, {})).toEqual({ QUEUE_PREFIX: '{sume}' })
  expect(problemsOf(spec, { QUEUE_PREFIX: 'sume' })).toHaveLength(1)
})
