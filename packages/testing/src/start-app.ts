import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Tie, tieProcesses } from '@sume-inbox/services'
import { waitFor } from './wait-for.ts'

const MAX_LINES = 20_000
/** What ends the processes when ours has ended, however it ended. */
let tie: Tie | undefined
const ROOT = join(import.meta.dirname, '../../..')

/** A process of one of the apps, started as in production. */
export interface AppProcess {
  readonly child: ChildProcess
  readonly pid: number
  /** `http://127.0.0.1:<port>`, from its `listening` line. */
  readonly url: string
  readonly internalUrl: string
  /** Its log lines so far, parsed. */
  readonly lines: Record<string, unknown>[]
  /** Everything it printed, as text. */
  output(): string
  /** Sends SIGTERM (or another signal) and waits. @returns its exit code, or the signal's name. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts `apps/<app>/src/main.ts` on free loopback ports and waits for its `listening` line. Only the
 * given environment reaches it: none of the shell's own settings.
 */
export async function startApp(
  app: string,
  env: Record<string, string>,
  onLine?: (text: string, line: Record<string, unknown> | undefined) => void,
): Promise<AppProcess> {
  const child = spawn(process.execPath, [join(ROOT, 'apps', app, 'src/main.ts')], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOST: '127.0.0.1',
      PORT: '0',
      INTERNAL_PORT: '0',
      LOG_LEVEL: 'debug',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A Ctrl-C is for whoever started it, who may still need it; the tie ends it with us.
    detached: true,
  })
  if (child.pid !== undefined) (tie ??= tieProcesses()).add(child.pid)
  const lines: Record<string, unknown>[] = []
  const printed: string[] = []
  const keep = (text: string) => {
    const line = parseLine(text)
    printed.push(text)
    if (line !== undefined) lines.push(line)
    // A process that stays up for days must not fill this one's memory.
    for (const kept of [printed, lines]) if (kept.length > MAX_LINES) kept.splice(0, MAX_LINES / 2)
    onLine?.(text, line)
  }
  createInterface({ input: child.stdout }).on('line', keep)
  createInterface({ input: child.stderr }).on('line', keep)
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'SIGKILL'))
  })
  const listening = await Promise.race([
    waitFor(`${app} to listen`, () => lines.find((line) => line['msg'] === 'listening')),
    ended.then((code) => Promise.reject(new Error(`${app} exited ${code}`))),
  ]).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw new Error(`${app} did not start:\n${printed.join('\n')}`, { cause: error })
  })

  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    return ended
  }
  return {
    child,
    pid: child.pid ?? 0,
    url: `http://127.0.0.1:${String(listening['port'])}`,
    internalUrl: `http://127.0.0.1:${String(listening['internalPort'])}`,
    lines,
    output: () => printed.join('\n'),
    stop,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGCONT')
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

function parseLine(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}
