import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownLane } from './room.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')

test('without a command it keeps the servers up until Ctrl-C', async () => {
  const child = spawn(process.execPath, [MAIN], {
    env: ownLane(),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let printed = ''
  child.stderr.on('data', (bytes: Buffer) => {
    printed += bytes.toString()
  })
  const exited = once(child, 'exit')
  await expect.poll(() => printed, { timeout: 60_000 }).toContain('Ctrl-C ends them.')
  expect(printed).toMatch(/DATABASE_URL=mysql:.*\nREDIS_URL=redis:/)
  child.kill('SIGINT')
  expect(await exited).toEqual([0, null])
})

test('a command gets their addresses, and its exit code is the whole’s', async () => {
  const check = 'process.exit(/^mysql:/.test(process.env.DATABASE_URL) ? 7 : 1)'
  const child = spawn(process.execPath, [MAIN, process.execPath, '-e', check], {
    env: ownLane(),
    stdio: 'ignore',
  })
  expect(await once(child, 'exit')).toEqual([7, null])
})
