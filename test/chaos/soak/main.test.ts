import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { waitFor } from '@sume-inbox/testing'
import { afterEach, expect, test } from 'vitest'

const MAIN = join(import.meta.dirname, 'main.ts')
const chaos = (...args: string[]) =>
  spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', timeout: 60_000 })

test.each([
  [['--events', '0'], "'0' is invalid. It must be a whole number from 1 on."],
  [['--every-seconds', 'often'], "'often' is invalid. It must be a number from 1 to 3600."],
  [['--source', 'luck'], "'luck' is invalid. Allowed choices are webhooks, intents."],
  [['--faults', '3'], "unknown option '--faults'"],
])('%j is refused before any server is started', (args, said) => {
  const { status, stderr, stdout } = chaos(...args)
  expect(stderr).toContain(said)
  expect(stdout).toBe('')
  expect(status).toBe(1)
})

let child: ChildProcess | undefined
afterEach(() => void child?.kill('SIGKILL'))

/** Starts a long soak and waits for its third fault. */
async function start() {
  const started = spawn(process.execPath, [MAIN, '--events', '100000', '--every-seconds', '1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, SERVICES: process.env['SERVICES_LANE'] },
  })
  child = started
  let printed = ''
  started.stdout.on('data', (bytes: Buffer) => {
    printed += bytes.toString()
  })
  const pids = () =>
    [...printed.matchAll(/\((?:receiver|worker) (\d+)\)/g)].map(([, pid]) => Number(pid))
  await waitFor(
    'three faults',
    () => printed.split(' events ').length > 3 && pids().length > 0,
    60_000,
  )
  return { started, printed: () => printed, pids }
}
const alive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('Ctrl-C ends the load, checks what there is, and leaves no process behind', async () => {
  const { started, printed, pids } = await start()
  started.kill('SIGINT')
  const [code] = (await once(started, 'exit')) as [number | null]
  expect(printed()).toContain('nothing lost, nothing doubled')
  expect(code).toBe(0)
  expect(pids().filter(alive)).toEqual([])
})

test('after a SIGKILL its receivers and workers end too', async () => {
  const { started, pids } = await start()
  started.kill('SIGKILL')
  await waitFor('them to end', () => pids().filter(alive).length === 0, 30_000)
  expect(pids().length).toBeGreaterThan(0)
})
