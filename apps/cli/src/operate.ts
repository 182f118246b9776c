import type { Reviver } from '@sume-inbox/shared/ledger'
import type { OperatorDeps } from '@sume-inbox/shared/operator'
import { openRestorer } from '@sume-inbox/shared/queues'
import { readEnv } from '@sume-inbox/shared/runtime'
import type { Cli } from './cli.ts'
import { sweepSettings } from './settings.ts'
import { withLedger } from './with-ledger.ts'

/** Opens what an operator's action needs, and closes it whatever happens. */
export async function operate<T>(cli: Cli, work: (deps: OperatorDeps) => Promise<T>): Promise<T> {
  const config = readEnv(sweepSettings, cli.env)
  const restorer = openRestorer({
    redisUrl: config.REDIS_URL,
    prefix: config.QUEUE_PREFIX,
    maxAttempts: config.MAX_ATTEMPTS,
    // The command tells what Redis did not take.
    onError: () => undefined,
  })
  try {
    return await withLedger(config, (ledger) => work({ ledger, restorer }))
  } finally {
    await restorer.close()
  }
}

const MAX_NAME = 128
/** Its column takes more, and nobody reads more. */
const MAX_WHY = 4000

/** Who acts, and why: it becomes part of the event's story. */
export const reviverOf = (cli: Cli, options: { by?: string; why?: string }): Reviver => ({
  by: (options.by ?? `${cli.user} (command line)`).slice(0, MAX_NAME),
  why: options.why?.slice(0, MAX_WHY) ?? null,
})

/** What a person should know when Redis did not take something. */
export const leftToSweeper = (events: number): string =>
  `Redis did not take ${events}; the next sweep enqueues them`
