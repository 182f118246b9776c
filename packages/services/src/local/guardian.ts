import { spawn } from 'node:child_process'
import { endInstance } from './instance.ts'

/**
 * A process that outlives ours for a moment: when the pipe to it closes, however we ended, it ends the
 * instance's servers. Without it a SIGKILL would leave them running for ever.
 */
export function guard(folder: string): () => void {
  const child = spawn(process.execPath, [import.meta.filename, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.on('error', () => undefined)
  child.stdin.on('error', () => undefined)
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return () => child.stdin.end()
}

if (process.argv[1] === import.meta.filename && process.argv[2] !== undefined) {
  const folder = process.argv[2]
  process.stdin.resume()
  process.stdin.once('close', () => void endInstance(folder).then(() => process.exit(0)))
}
