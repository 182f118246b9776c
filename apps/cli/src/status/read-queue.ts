import { openRestorer, type QueueCounts } from '@sume-inbox/shared/queues'
import type { Env } from '@sume-inbox/shared/runtime'
import { redisTrouble } from '../explain.ts'

/** What the queue holds, or why that is not known. */
export type QueueStatus = QueueCounts | { readonly unknown: string }

/** Asks the queue. Redis away is a finding, not a failure: the ledger has more to tell. */
export async function readQueue(
  config: { REDIS_URL?: string | undefined; QUEUE_PREFIX: string },
  env: Env,
): Promise<QueueStatus> {
  if (config.REDIS_URL === undefined) return { unknown: 'REDIS_URL is not set' }
  const restorer = openRestorer({
    redisUrl: config.REDIS_URL,
    prefix: config.QUEUE_PREFIX,
    maxAttempts: 1,
    onError: () => undefined,
  })
  try {
    return await restorer.count()
  } catch (error) {
    return { unknown: redisTrouble(error, env) }
  } finally {
    await restorer.close()
  }
}
