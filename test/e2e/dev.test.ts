import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { waitFor } from '@sume-inbox/testing'
import { expect, test } from 'vitest'

const MAIN = join(import.meta.dirname, '../../apps/dev/src/main.ts')

/** Starts dev with servers of its own, as on a fresh machine. */
function startDev(...args: string[]) {
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...env } = process.env
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => lines.push(line))
  }
  const printed = (pattern: RegExp) =>
    waitFor(
      `dev to print ${String(pattern)}`,
      () => {
        if (child.exitCode !== null) throw new Error(lines.join('\n'))
        return lines.some((line) => pattern.test(line))
      },
      90_000,
    )
  return { child, lines, printed, ended: once(child, 'exit') as Promise<[number | null]> }
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('dev --once ends with exit code 0 and every event done', async () => {
  const dev = startDev('--once')
  const [code] = await dev.ended
  const output = dev.lines.join('\n')
  expect(code, output).toBe(0)
  const table = dev.lines.filter((line) => line.startsWith('│'))
  expect(
    table.filter((line) => / done /.test(line)),
    output,
  ).toHaveLength(6)
  expect(output).toMatch(/webhook never comes +│ job\.completed +│ poll +│ done +│ +0 │/)
})

test('dev says what it does not know, and exits 1', async () => {
  const dev = startDev('--onse')
  expect((await dev.ended)[0]).toBe(1)
  expect(dev.lines.join('\n')).toContain('--once')
})

test('nothing that dev started is left when dev is killed', async () => {
  const dev = startDev()
  await dev.printed(/Ctrl-C stops everything/)
  const pids = dev.lines.flatMap((line) => /: pid (\d+)/.exec(line)?.[1] ?? []).map(Number)
  expect(pids).toHaveLength(5)
  expect(pids.every(isAlive)).toBe(true)
  dev.child.kill('SIGKILL')
  await waitFor('its processes to end', () => !pids.some(isAlive))
})

test('dev stops in order at a signal, with exit code 0', async () => {
  const dev = startDev()
  await dev.printed(/Ctrl-C stops everything/)
  // Until then everything answers, the console's board too.
  const [, console] = /^ +console +(http:\S+)/m.exec(dev.lines.join('\n')) ?? []
  expect((await fetch(`${console}/queues/api/queues`)).status).toBe(200)
  const pids = dev.lines.flatMap((line) => /: pid (\d+)/.exec(line)?.[1] ?? []).map(Number)
  dev.child.kill('SIGINT')
  expect((await dev.ended)[0]).toBe(0)
  expect(pids.some(isAlive)).toBe(false)
})
