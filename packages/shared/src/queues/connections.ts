import { Redis } from 'ioredis'

type OnError = (error: Error) => void

/**
 * The receiver's connection: every command is answered or refused within about a second, whatever Redis
 * does, because a delivery waits for it. Never to be used for a worker, whose blocking commands it would cut.
 */
export function producerConnection(url: string, onError: OnError): Redis {
  return listening(
    new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      // A frozen Redis, or a cable pulled out, answers nothing at all.
      commandTimeout: 800,
      connectTimeout: 2000,
      retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 5), 1000),
    }),
    onError,
  )
}

/** A worker's connection: waits for Redis for ever, and tries at least once every two seconds. */
export function workerConnection(url: string, onError: OnError): Redis {
  return listening(
    new Redis(url, {
      maxRetriesPerRequest: null,
      connectTimeout: 5000,
      retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 6), 2000),
    }),
    onError,
  )
}

/** A dashboard's connection: a person waits for it, so that every command is answered or refused within seconds. */
export function boardConnection(url: string, onError: OnError): Redis {
  return listening(
    new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      // Longer than the producer's: to empty a long list takes Redis a while.
      commandTimeout: 5000,
      connectTimeout: 2000,
      retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 6), 2000),
    }),
    onError,
  )
}

/** An `error` event without a listener ends the process. */
function listening(redis: Redis, onError: OnError): Redis {
  return redis.on('error', onError)
}
