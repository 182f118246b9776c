import closeWithGrace from 'close-with-grace'
import { ConfigError, type Env } from './env.ts'
import { errorText, toError } from './errors.ts'

/** A process that has started. */
export interface Started {
  /** How long `stop` may take, in milliseconds, before the process ends anyway (with exit code 1). */
  readonly graceMs: number
  /** Stops intake, finishes what runs, closes what is open. */
  stop(): Promise<void>
  /** Where errors that nobody caught go; a line in the process's log. */
  crashed(error: Error): void
}

/**
 * The life of a process: start, wait for a signal, stop within the grace, exit 0. A second signal
 * leaves at once. A configuration that cannot be used is printed whole and exits 2; an error that
 * nobody caught is logged, stops the process in order, and exits 1.
 */
export async function runProcess(env: Env, start: (env: Env) => Promise<Started>): Promise<void> {
  let started: Started
  try {
    started = await start(env)
  } catch (error) {
    const config = error instanceof ConfigError
    process.stderr.write(`${config ? error.message : `cannot start: ${errorText(error)}`}\n`)
    process.exit(config ? 2 : 1)
  }
  closeWithGrace({ delay: started.graceMs, logger: false }, async ({ err }) => {
    if (err !== undefined) started.crashed(toError(err))
    await started.stop()
  })
}
