import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startTime } from './process-identity.ts'

interface ProcessIdentity {
  readonly pid: number
  readonly startedAt: string | null
}

/** What an instance's folder says about it, for whoever must clean up after it. */
interface InstanceState {
  readonly owner: ProcessIdentity
  readonly servers: Record<string, ProcessIdentity>
}

const STATE = 'instance.json'
const TERM_MS = 10_000

/** A folder with the data of a private MySQL and Redis, and the record of who owns it. */
export function makeInstance(parent: string): {
  folder: string
  note(server: string, of: ProcessIdentity): void
} {
  const folder = join(parent, `instance-${process.pid}-${randomBytes(4).toString('hex')}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const state: InstanceState = {
    owner: { pid: process.pid, startedAt: startTime(process.pid) },
    servers: {},
  }
  const write = () => {
    // Renamed into place, so that no reader meets half of it.
    writeFileSync(join(folder, `${STATE}.new`), JSON.stringify(state))
    renameSync(join(folder, `${STATE}.new`), join(folder, STATE))
  }
  write()
  return {
    folder,
    note(server, of) {
      state.servers[server] = of
      write()
    },
  }
}

/** Ends the servers of an instance, if they are still the same processes, and removes its folder. */
export async function endInstance(folder: string): Promise<void> {
  const state = readState(folder)
  const alive = Object.values(state?.servers ?? {}).filter(isAlive)
  for (const server of alive) {
    signal(server, 'SIGCONT')
    signal(server, 'SIGTERM')
  }
  const patience = performance.now() + TERM_MS
  while (alive.some(isAlive) && performance.now() < patience) await sleep(50)
  for (const server of alive) signal(server, 'SIGKILL')
  while (alive.some(isAlive)) await sleep(20)
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}

/** Ends the instances whose owner is gone. @returns how many there were. */
export async function endLeftInstances(parent: string): Promise<number> {
  if (!existsSync(parent)) return 0
  let left = 0
  for (const name of readdirSync(parent)) {
    if (!name.startsWith('instance-')) continue
    const folder = join(parent, name)
    const state = readState(folder)
    if (state !== null && isAlive(state.owner)) continue
    // Without a state it is being made, or was torn while being made: its name says by whom.
    if (state === null && startTime(Number(name.split('-')[1])) !== null) continue
    left++
    await endInstance(folder)
  }
  return left
}

const isAlive = ({ pid, startedAt }: ProcessIdentity): boolean =>
  startedAt !== null && startTime(pid) === startedAt

function signal(server: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isAlive(server)) return
  try {
    process.kill(server.pid, name)
  } catch {
    // ended in between
  }
}

function readState(folder: string): InstanceState | null {
  try {
    return JSON.parse(readFileSync(join(folder, STATE), 'utf8')) as InstanceState
  } catch {
    return null
  }
}
