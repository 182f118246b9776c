import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { processSpace, startTime } from '../src/local/process-identity.ts'
import { roomForServices } from './room.ts'

const room = roomForServices()
const PARENT = fileURLToPath(import.meta.resolve('./parent.ts'))
const children: ChildProcess[] = []
const END = { timeout: 15_000, interval: 50 }

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

test.each(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)(
  'the servers are gone after their process got %s',
  async (signal) => {
    const { child, pids } = await startParent()
    expect(pids.map(startTime)).not.toContain(null)
    child.kill(signal)
    await vi.waitFor(() => {
      expect(pids.map(startTime)).toEqual([null, null])
      expect(instances()).toEqual([])
    }, END)
  },
)

test('the next start ends what a process and its guardian left, and nobody else', async () => {
  const { child, pids, guardian } = await startParent()
  process.kill(guardian, 'SIGKILL')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const [left = ''] = instances()
  expect(pids.map(startTime)).not.toContain(null)

  // By now, its number in another instance's state belongs to somebody else.
  const stranger = spawn('sleep', ['600'])
  children.push(stranger)
  const folder = leftInstance({ pid: stranger.pid ?? 0, startedAt: 'long before' })

  await (await room.open()).close()
  expect(room.lines.join('\n')).toContain(left)
  expect(pids.map(startTime)).toEqual([null, null])
  expect(startTime(stranger.pid ?? 0)).not.toBeNull()
  expect(instances()).not.toContain(folder)
})

test('an instance of a process that lives is left alone', async () => {
  const { child, pids } = await startParent()
  await (await room.open()).close()
  expect(pids.map(startTime)).not.toContain(null)
  child.kill('SIGKILL')
  await vi.waitFor(() => expect(pids.map(startTime)).toEqual([null, null]), END)
})

test('an instance of another container is left alone', async () => {
  const folder = leftInstance(
    { pid: 1, startedAt: '1' },
    { ...processSpace(), namespace: 'pid:[1]' },
  )
  await (await room.open()).close()
  expect(instances()).toContain(folder)
})

/** A process that opens services and says which; `parent.ts`. */
async function startParent() {
  const child = spawn(process.execPath, [PARENT, room.root], {
    env: { PATH: process.env['PATH'] ?? '', SERVICES: 'local' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const pids = JSON.parse(line) as [number, number]
  return { child, pids, guardian: guardianOf(child.pid ?? 0) }
}

/** The child of the process that is neither server. */
function guardianOf(pid: number): number {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const found = numbers.find((name) => {
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, 'utf8')
      return line.includes('guardian.ts') && line.includes(`instance-${pid}-`)
    } catch {
      return false
    }
  })
  return Number(found)
}

function leftInstance(server: { pid: number; startedAt: string }, space = processSpace()): string {
  const name = `instance-${server.pid}-test`
  mkdirSync(join(room.root, '.local/services', name), { recursive: true })
  const state = { space, owner: { pid: 1, startedAt: 'never' }, servers: { mysql: server } }
  writeFileSync(join(room.root, '.local/services', name, 'instance.json'), JSON.stringify(state))
  return name
}

const instances = (): string[] =>
  readdirSync(join(room.root, '.local/services')).filter((name) => name.startsWith('instance-'))
