/** How often to see whether whoever started us is still there. */
const LOOK_MS = 500

/**
 * Resolves at the first SIGINT, SIGTERM or SIGHUP, or when the parent is gone: a SIGTERM to `npx` or
 * `pnpm` ends them without a word to us. A second signal leaves at once.
 */
export function untilStopped(): Promise<'stopped'> {
  const parent = process.ppid
  return new Promise((resolve) => {
    let told = false
    const stop = () => {
      if (told) process.exit(130)
      told = true
      resolve('stopped')
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
    setInterval(() => {
      if (process.ppid === parent || told) return
      told = true
      resolve('stopped')
    }, LOOK_MS).unref()
  })
}
