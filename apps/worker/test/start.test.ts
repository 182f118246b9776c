import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'

async function refuses(env: Record<string, string>) {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../src/main.ts')], {
    env: { PATH: process.env['PATH'] ?? '', INTERNAL_PORT: '0', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (text: Buffer) => {
    said += text.toString()
  })
  const [code] = (await once(child, 'close')) as [number]
  return { code, said }
}

test('without any configuration every missing name is told at once, and the exit is 2', async () => {
  const { code, said } = await refuses({})
  expect(code).toBe(2)
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'FOLLOW_UPS']) expect(said).toContain(name)
})

test('a FOLLOW_UPS module that is not there stops the start before anything is connected', async () => {
  const { code, said } = await refuses({
    // Nobody listens there.
    DATABASE_URL: 'mysql://user:password@127.0.0.1:1/inbox',
    REDIS_URL: 'redis://127.0.0.1:1',
    FOLLOW_UPS: '/nowhere/follow-ups.ts',
  })
  expect(code).toBe(2)
  expect(said).toContain('FOLLOW_UPS: /nowhere/follow-ups.ts is not there')
})
