import { Redis } from 'ioredis'
import { toError, withDeadline } from '../runtime/index.ts'

/** What the queue needs to know of Redis: the fields of its `INFO`, by their names. */
export type RedisInfo = Readonly<Record<string, string>>

/**
 * Asks Redis once, over a connection of its own that is not made again when it fails.
 * `INFO` and not `CONFIG GET`, which hosted Redis servers refuse.
 *
 * @throws within `timeoutMs` when Redis is away, frozen, or refuses us.
 */
export async function inspectRedis(redisUrl: string, timeoutMs: number): Promise<RedisInfo> {
  let failure: Error | undefined
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: timeoutMs,
  })
  // `connect` rejects with "Connection is closed" only; the reason comes here.
  redis.on('error', (error: Error) => (failure ??= error))
  try {
    const info = await withDeadline(
      redis.connect().then(() => redis.info()),
      timeoutMs,
      'asking Redis',
    )
    return parseInfo(info)
  } catch (error) {
    throw failure ?? toError(error)
  } finally {
    redis.disconnect()
  }
}

function parseInfo(info: string): RedisInfo {
  const fields: Record<string, string> = {}
  for (const line of info.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0 && !line.startsWith('#')) fields[line.slice(0, colon)] = line.slice(colon + 1)
  }
  return fields
}
