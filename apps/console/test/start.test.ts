import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { ask, login, openRoom, tryLogin } from './room.ts'

/** Starts the console with exactly this environment and waits until it ends. */
async function start(env: Record<string, string>) {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../src/main.ts')], { env })
  const said = text(child.stderr)
  const [code] = (await once(child, 'exit')) as [number | null]
  return { code, said: await said }
}

test('without a password it does not start but on loopback: exit 2, every problem named, no value shown', async () => {
  const { code, said } = await start({
    DATABASE_URL: 'postgres://root:hunter2@127.0.0.1/x',
    CONSOLE_SESSION_KEY: 'hunter2',
    CONSOLE_BASE_PATH: 'hunter2',
    HOST: '0.0.0.0',
  })
  expect(code).toBe(2)
  for (const name of [
    'DATABASE_URL',
    'REDIS_URL',
    'CONSOLE_PASSWORD',
    'CONSOLE_SESSION_KEY',
    'CONSOLE_BASE_PATH',
  ])
    expect(said).toContain(`  - ${name}: `)
  expect(said).not.toContain('hunter2')
})

test('each secret may come from a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  const file = (name: string, value: string) => {
    writeFileSync(join(folder, name), `${value}\n`, { mode: 0o600 })
    return join(folder, name)
  }
  await using room = await openRoom()
  const filed = await room.another({
    CONSOLE_PASSWORD: '',
    CONSOLE_PASSWORD_FILE: file('operator', 'operator-from-file'),
    CONSOLE_VIEWER_PASSWORD: '',
    CONSOLE_VIEWER_PASSWORD_FILE: file('viewer', 'viewer-from-file'),
    CONSOLE_SESSION_KEY_FILE: file('key', 'k'.repeat(32)),
  })
  const cookie = await login(filed.url, 'operator-from-file')
  expect((await ask(filed.url, '/', { cookie })).text).toContain('operator: ')
  expect((await tryLogin(filed.url, 'viewer-from-file')).status).toBe(303)
  expect(filed.output()).not.toContain('CONSOLE_SESSION_KEY is not set')
})
