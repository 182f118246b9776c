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
import { processSpace, startTime } from './process-identity.ts'

interface ProcessIdentity {
  readonly pid: number
  readonly startedAt: string | null
}

/** What an instance's folder says about it, for whoever must clean up after it. */
interface InstanceState {
  readonly space: ReturnType<typeof processSpace>
  readonly owner: ProcessIdentity
  readonly servers: Record<string, ProcessIdentity>
  readonly containers: string[]
}

const STATE = 'instance.json'

/** A folder for a private MySQL and Redis: their data, if any, and the record of who owns them. */
export function makeInstance(parent: string): {
  folder: string
  note(server: string, of: ProcessIdentity): void
  noteContainer(id: string): void
} {
  const folder = join(parent, `instance-${process.pid}-${randomBytes(4).toString('hex')}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const state: InstanceState = {
    space: processSpace(),
    owner: { pid: process.pid, startedAt: startTime(process.pid) },
    servers: {},
    containers: [],
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
    noteContainer(id) {
      state.containers.push(id)
      write()
    },
  }
}

/**
 * Ends the servers and containers of an instance, if the processes are still the same processes, and removes its folder. By
 * SIGKILL, since nobody needs the data any more: it is quick and ends a frozen one too.
 */
export async function endInstance(folder: string): Promise<void> {
  const state = readState(folder)
  const here = processSpace()
  const same = state?.space.boot === here.boot && state.space.namespace === here.namespace
  const alive = same ? Object.values(state.servers).filter(isAlive) : []
  for (const server of alive) kill(server)
  while (alive.some(isAlive)) await sleep(10)
  if (state !== null && state.containers.length > 0) {
    // Only here: the library is slow to load, and a guardian needs little memory without it.
    const { removeContainers } = await import('../containers/engine.ts')
    await removeContainers(state.containers)
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}

/** Ends the instances whose owner is gone. */
export async function endLeftInstances(parent: string, log: (line: string) => void): Promise<void> {
  if (!existsSync(parent)) return
  for (const name of readdirSync(parent)) {
    const folder = join(parent, name)
    if (!name.startsWith('instance-') || !isLeft(folder, name)) continue
    try {
      await endInstance(folder)
      log(`services: cleaned up after an earlier run that did not end well (${name})`)
    } catch (error) {
      // Another user's, for example: no reason not to start.
      log(`services: cannot remove ${folder}: ${error instanceof Error ? error.message : ''}`)
    }
  }
}

function isLeft(folder: string, name: string): boolean {
  const state = readState(folder)
  // Without a state it is being made, or was torn while being made: its name says by whom.
  if (state === null) return startTime(Number(name.split('-')[1])) === null
  const here = processSpace()
  if (state.space.boot !== here.boot) return true
  // Whether a container's process lives cannot be told from outside it.
  return state.space.namespace === here.namespace && !isAlive(state.owner)
}

const isAlive = ({ pid, startedAt }: ProcessIdentity): boolean =>
  startedAt !== null && startTime(pid) === startedAt

function kill(server: ProcessIdentity): void {
  try {
    process.kill(server.pid, 'SIGKILL')
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
