import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { toError, withDeadline } from '../runtime/index.ts'
import { producerConnection } from './connections.ts'
import { type Enqueued, type FollowUpJob, jobOptions, QUEUE_NAME } from './follow-ups-queue.ts'

export interface ProducerOptions {
  readonly redisUrl: string
  readonly prefix: string
  readonly maxAttempts: number
  readonly onError: (error: Error) => void
}

/** Puts first deliveries into the queue. */
export interface Producer {
  /**
   * Adds the event's job, once: a job that exists already stays as it is.
   *
   * @throws within about a second when Redis is down, frozen or full. The job may be there all the same;
   *   the row is committed, so the sweeper makes up for what is missing.
   */
  enqueue(event: Enqueued): Promise<void>
  /** Whether Redis took the last thing it was asked for. */
  isUp(): boolean
  close(): Promise<void>
}

/** The longest that a delivery waits for Redis, in milliseconds. */
const PATIENCE_MS = 1000
/** After a failure Redis is left alone for so long: otherwise each of many deliveries would wait the whole patience. */
const PAUSE_MS = 1000

/** Opens the queue for adding. Redis may be down: then `enqueue` fails at once, and recovers by itself. */
export function openProducer(options: ProducerOptions): Producer {
  const connection = producerConnection(options.redisUrl, options.onError)
  const queue = new Queue<FollowUpJob>(QUEUE_NAME, {
    connection,
    prefix: options.prefix,
    // Both together: with only the first, a Queue made while Redis is down refuses for ever.
    skipWaitingForReady: true,
    skipVersionCheck: true,
  })
  queue.on('error', options.onError)
  let pausedUntil = 0
  let connected: Promise<unknown> | undefined

  const add = async (event: Enqueued) => {
    // Just started, or Redis is just back: without this wait the first deliveries would be left to the sweeper.
    if (connection.status === 'connecting' || connection.status === 'connect') {
      // One listener for all deliveries that wait, however many there are.
      connected ??= once(connection, 'ready').finally(() => (connected = undefined))
      await connected
    }
    await queue.add(
      event.status,
      { dedupeKey: event.dedupeKey },
      jobOptions(event, options.maxAttempts),
    )
  }

  return {
    async enqueue(event) {
      if (performance.now() < pausedUntil)
        throw new Error('Redis failed a moment ago and is left alone')
      try {
        await withDeadline(add(event), PATIENCE_MS, 'adding a job')
      } catch (error) {
        pausedUntil = performance.now() + PAUSE_MS
        throw toError(error)
      }
    },
    isUp: () => connection.status === 'ready' && performance.now() >= pausedUntil,
    async close() {
      await Promise.race([
        queue.close().catch(() => undefined),
        sleep(500, undefined, { ref: false }),
      ])
      connection.disconnect()
    },
  }
}
