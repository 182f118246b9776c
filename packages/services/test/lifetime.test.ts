import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { processSpace, startTime } from '../src/instance/process-identity.ts'
import { ownLane, roomForServices } from './room.ts'

const room = roomForServices()
const PARENT = fileURLToPath(import.meta.resolve('./parent.ts'))
const children: ChildProcess[] = []
const END = { timeout: 30_000, interval: 50 }

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

test.each(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)(
  'the servers are gone after their process got %s',
  async (signal) => {
    const { child, urls } = await startParent()
    expect(await listening(urls)).toEqual([true, true])
    child.kill(signal)
    await vi.waitFor(async () => {
      expect(await listening(urls)).toEqual([false, false])
      expect(instances()).toEqual([])
    }, END)
  },
)

test('the next start ends what a process and its guardian left, and nobody else', async () => {
  const { child, urls, guardian } = await startParent()
  process.kill(guardian, 'SIGKILL')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const [left = ''] = instances()
  expect(await listening(urls)).toEqual([true, true])

  // By now, its number in another instance's state belongs to somebody else.
  const stranger = spawn('sleep', ['600'])
  children.push(stranger)
  const folder = leftInstance({ pid: stranger.pid ?? 0, startedAt: 'long before' })

  await (await room.open()).close()
  expect(room.lines.join('\n')).toContain(left)
  expect(await listening(urls)).toEqual([false, false])
  expect(startTime(stranger.pid ?? 0)).not.toBeNull()
  expect(instances()).not.toContain(folder)
})

test('an instance of a process that lives is left alone', async () => {
  const { child, urls } = await startParent()
  await (await room.open()).close()
  expect(await listening(urls)).toEqual([true, true])
  child.kill('SIGKILL')
  await vi.waitFor(async () => expect(await listening(urls)).toEqual([false, false]), END)
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
    env: ownLane(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error('it ended before it said anything'))),
  ])) as [string]
  const urls = JSON.parse(line) as [string, string]
  return { child, urls, guardian: guardianOf(child.pid ?? 0) }
}

/** Which of the servers still have a listener. */
const listening = (urls: readonly string[]): Promise<boolean[]> =>
  Promise.all(
    urls.map(
      (url) =>
        new Promise<boolean>((resolve) => {
          const { hostname, port } = new URL(url)
          const socket = connect(Number(port), hostname)
          socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
          socket.once('connect', () => socket.destroy())
        }),
    ),
  )

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
  const state = {
    space,
    owner: { pid: 1, startedAt: 'never' },
    servers: { mysql: server },
    containers: [],
  }
  writeFileSync(join(room.root, '.local/services', name, 'instance.json'), JSON.stringify(state))
  return name
}

const instances = (): string[] =>
  readdirSync(join(room.root, '.local/services')).filter((name) => name.startsWith('instance-'))
