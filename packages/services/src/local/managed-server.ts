import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { startTime } from './process-identity.ts'

/** A server that may be stopped, killed and frozen, as faults do it. */
export interface ManagedServer {
  pid(): number
  /** Stops it in order and waits until it has ended. */
  stop(): Promise<void>
  /** Starts it again on the same port and data, and waits until it answers. */
  start(): Promise<void>
  /** SIGKILL, and waits until it has ended. */
  kill(): Promise<void>
  /** SIGSTOP: its connections stay open and nothing is answered. */
  freeze(): void
  thaw(): void
}

export interface ServerProgram {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly argv0?: string
  readonly logFile: string
  /** Resolves when the server answers; rejects while it does not. */
  answers(): Promise<unknown>
  /** Told of the new process after each start. */
  started(pid: number, startedAt: string | null): void
}

const START_MS = 60_000
const STOP_MS = 20_000

/**
 * Starts a server as a process group of its own: a Ctrl-C in the terminal is for the process that uses
 * it, which may still need it while it stops.
 */
export async function startServer(program: ServerProgram): Promise<ManagedServer> {
  let child: ChildProcess
  let ended: Promise<void>

  const start = async () => {
    const log = openSync(program.logFile, 'a')
    child = spawn(program.command, program.args, {
      detached: true,
      stdio: ['ignore', log, log],
      ...(program.argv0 === undefined ? {} : { argv0: program.argv0 }),
    })
    closeSync(log)
    let failure: Error | undefined
    ended = new Promise((resolve) => {
      child.once('exit', () => resolve())
      child.once('error', (error) => {
        failure = error
        resolve()
      })
    })
    child.unref()
    if (child.pid !== undefined) program.started(child.pid, startTime(child.pid))
    const patience = performance.now() + START_MS
    for (;;) {
      if (failure !== undefined || child.exitCode !== null || child.signalCode !== null) {
        throw new Error(
          `${program.name} ended at its start: ${failure?.message ?? logTail(program.logFile)}`,
        )
      }
      try {
        await program.answers()
        return
      } catch (error) {
        if (performance.now() < patience) {
          await sleep(50)
          continue
        }
        child.kill('SIGKILL')
        throw new Error(`${program.name} did not answer in time: ${logTail(program.logFile)}`, {
          cause: error,
        })
      }
    }
  }
  const signal = (name: NodeJS.Signals) => child.kill(name)
  await start()
  return {
    pid: () => child.pid ?? 0,
    start,
    async stop() {
      signal('SIGCONT')
      signal('SIGTERM')
      const patience = setTimeout(() => signal('SIGKILL'), STOP_MS)
      await ended
      clearTimeout(patience)
    },
    async kill() {
      signal('SIGKILL')
      await ended
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
  }
}

const logTail = (file: string): string => {
  try {
    return `the end of its log:\n${readFileSync(file, 'utf8').trimEnd().split('\n').slice(-15).join('\n')}`
  } catch {
    return 'it left no log'
  }
}
