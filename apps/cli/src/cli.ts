import type { Env } from '@sume-inbox/shared/runtime'
import type { Out } from './out.ts'

/** What a command may use of the process. */
export interface Cli {
  readonly env: Env
  readonly cwd: string
  readonly stdin: AsyncIterable<Buffer | string>
  readonly out: Out
  /** The account that runs it, for what is written down about people's decisions. */
  readonly user: string
  /** From this call on the first SIGINT or SIGTERM only aborts the signal: for work that can stop and go on later. */
  stoppable(): AbortSignal
}

/** Exit codes: done; wrong use, or the thing failed; a configuration that cannot be used. */
export const EXIT = { ok: 0, failed: 1, config: 2 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** The thing that was asked for failed, for a reason that the message tells whole. */
export class CommandError extends Error {
  readonly code = 'COMMAND'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandError'
  }
}
