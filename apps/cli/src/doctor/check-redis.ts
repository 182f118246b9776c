import { inspectRedis } from '@sume-inbox/shared/queues'
import type { Env } from '@sume-inbox/shared/runtime'
import { redisTrouble } from '../explain.ts'
import { type Finding, fail, ok } from './finding.ts'
import { judgeRedis } from './judge-redis.ts'

const TIMEOUT_MS = 4000

/** Asks Redis everything that the queue depends on. */
export async function checkRedis(redisUrl: string, env: Env): Promise<Finding[]> {
  try {
    return [ok('Redis answers'), ...judgeRedis(await inspectRedis(redisUrl, TIMEOUT_MS))]
  } catch (error) {
    const [what = '', fix = 'see its log'] = redisTrouble(error, env).split('; ', 2)
    return [fail(what, fix)]
  }
}
