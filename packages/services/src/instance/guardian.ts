import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { endInstance } from './instance.ts'

/**
 * A process that outlives ours for a moment: when the pipe to it closes, however we ended, it ends the
 * instance's servers. Without it a SIGKILL would leave them running for ever.
 *
 * @returns what lets it go, and waits until it has.
 */
export function guard(folder: string): () => Promise<void> {
  const child = spawn(process.execPath, [import.meta.filename, folder], {
    cwd: '/',
    // Nothing of our own settings but where the engine is: a NODE_OPTIONS could keep it from starting.
    env: Object.fromEntries(
      Object.entries(process.env).filter(([name]) => /^(HOME$|DOCKER_|TESTCONTAINERS_)/.test(name)),
    ),
    // A Ctrl-C is not for it. And no output: whoever reads ours to its end would wait for it too.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.on('error', () => undefined)
  child.stdin.on('error', () => undefined)
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return async () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    const gone = once(child, 'exit')
    child.stdin.end()
    await gone
  }
}

if (process.argv[1] === import.meta.filename && process.argv[2] !== undefined) {
  const folder = process.argv[2]
  process.stdin.resume()
  process.stdin.once('close', () => void endInstance(folder).then(() => process.exit(0)))
}
