import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

/** Starts the receiver with exactly this environment and waits until it ends. */
async function start(env: Record<string, string>) {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../src/main.ts')], { env })
  const said = text(child.stderr)
  const [code] = (await once(child, 'exit')) as [number | null]
  return { code, said: await said }
}

test('with an empty secret it does not start: exit 2, every problem named, and no value shown', async () => {
  const { code, said } = await start({
    DATABASE_URL: 'postgres://root:hunter2@127.0.0.1/x',
    SUME_WEBHOOK_SECRETS: '',
    PORT: 'http',
  })
  expect(code).toBe(2)
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'SUME_WEBHOOK_SECRETS', 'PORT'])
    expect(said).toContain(`  - ${name}: `)
  expect(said).not.toContain('hunter2')
})
