import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { TEST_SECRET } from '@sume-inbox/testing'
import { expect, test } from 'vitest'

/** Starts the receiver with exactly this environment and waits until it ends. */
async function start(env: Record<string, string>) {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../src/main.ts')], { env })
  const said = text(child.stderr)
  const [code] = (await once(child, 'exit')) as [number | null]
  return { code, said: await said }
}

const good = {
  DATABASE_URL: 'mysql://root@127.0.0.1:1/x',
  REDIS_URL: 'redis://127.0.0.1:1',
  SUME_WEBHOOK_SECRETS: TEST_SECRET,
}

test.each([
  ['no secret', { SUME_WEBHOOK_SECRETS: '' }, 'SUME_WEBHOOK_SECRETS: is missing'],
  ['a secret of a few letters', { SUME_WEBHOOK_SECRETS: 'hunter2' }, 'at least 16 characters'],
  ['an empty one among two', { SUME_WEBHOOK_SECRETS: `${TEST_SECRET},` }, 'at least 16 characters'],
  ['a body limit beyond a packet', { BODY_LIMIT_BYTES: '16777216' }, 'BODY_LIMIT_BYTES: must be'],
  ['a database time over Sume’s patience', { DATABASE_TIMEOUT_MS: '30000' }, 'DATABASE_TIMEOUT_MS'],
])('with %s it does not start: exit 2, and the problem is named', async (_, env, problem) => {
  const { code, said } = await start({ ...good, ...env })
  expect(code).toBe(2)
  expect(said).toContain(problem)
  expect(said).not.toContain('hunter2')
})

test('every problem is named at once', async () => {
  const { code, said } = await start({ PORT: 'http' })
  expect(code).toBe(2)
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'SUME_WEBHOOK_SECRETS', 'PORT'])
    expect(said).toContain(`  - ${name}: `)
})
