import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { logTail } from './log-tail.ts'
import { startTime } from '../instance/process-identity.ts'
import type { ManagedServer } from '../managed-server.ts'

export interface ServerProgram {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly argv0?: string
  /** Its working folder. */
  readonly cwd: string
  readonly logFile: string
  /** Resolves when the server answers; rejects while it does not. */
  answers(): Promise<unknown>
  /** Told of the new process after each start. */
  started(pid: number, startedAt: string | null): void
}

const START_MS = 60_000
const STOP_MS = 20_000

/** Starts a server and waits until it answers. @throws with the end of its log. */
export async function startServer(program: ServerProgram): Promise<ManagedServer> {
  let child: ChildProcess | undefined
  const running = (): ChildProcess => {
    // A fault that hits nothing would let a test pass that proves nothing.
    if (child === undefined || hasEnded(child)) throw new Error(`${program.name} does not run`)
    return child
  }
  const server: ManagedServer = {
    pid: async () => running().pid ?? 0,
    async start() {
      if (child !== undefined && !hasEnded(child)) return
      child = spawnServer(program)
      await untilAnswers(program, child)
    },
    async stop() {
      const stopping = running()
      // A frozen one hears the other signal only when it runs again.
      stopping.kill('SIGCONT')
      if (await end(stopping, 'SIGTERM')) return
      await end(stopping, 'SIGKILL')
      throw new Error(`${program.name} did not stop in time; ${logTail(program.logFile)}`)
    },
    async kill() {
      await end(running(), 'SIGKILL')
    },
    freeze: async () => void running().kill('SIGSTOP'),
    thaw: async () => void running().kill('SIGCONT'),
  }
  await server.start()
  return server
}

/**
 * As a process group of its own: a Ctrl-C in the terminal is for the process that uses it, which may
 * still need it while it stops.
 */
function spawnServer(program: ServerProgram): ChildProcess {
  const log = openSync(program.logFile, 'a', 0o600)
  const { PATH = '', TMPDIR, TZ } = process.env
  const child = spawn(program.command, program.args, {
    cwd: program.cwd,
    detached: true,
    // Not the whole environment: MYSQL_TCP_PORT and its kind would change the server.
    env: { PATH, ...(TMPDIR ? { TMPDIR } : {}), ...(TZ ? { TZ } : {}) },
    stdio: ['ignore', log, log],
    ...(program.argv0 === undefined ? {} : { argv0: program.argv0 }),
  })
  closeSync(log)
  // A program that cannot be run has no pid, which untilAnswers sees.
  child.on('error', () => undefined)
  // A process that forgets to close may end all the same; the guardian does the rest.
  child.unref()
  if (child.pid !== undefined) program.started(child.pid, startTime(child.pid))
  return child
}

async function untilAnswers(program: ServerProgram, child: ChildProcess): Promise<void> {
  const patience = performance.now() + START_MS
  for (;;) {
    if (child.pid === undefined) throw new Error(`${program.command} cannot be run`)
    if (hasEnded(child)) {
      throw new Error(`${program.name} ended at its start; ${logTail(program.logFile)}`)
    }
    try {
      await program.answers()
      return
    } catch (error) {
      if (performance.now() < patience) {
        await sleep(20)
        continue
      }
      await end(child, 'SIGKILL')
      throw new Error(`${program.name} did not answer in time; ${logTail(program.logFile)}`, {
        cause: error,
      })
    }
  }
}

/** @returns whether it ended in time. */
async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<boolean> {
  if (hasEnded(child)) return true
  child.ref()
  const gone = once(child, 'exit', { signal: AbortSignal.timeout(STOP_MS) })
  child.kill(signal)
  return gone.then(
    () => true,
    () => false,
  )
}

const hasEnded = (child: ChildProcess): boolean =>
  child.exitCode !== null || child.signalCode !== null
