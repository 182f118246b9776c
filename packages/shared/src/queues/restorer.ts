import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { workerConnection } from './connections.ts'
import {
  type Enqueued,
  type FollowUpJob,
  jobId,
  jobOptions,
  QUEUE_NAME,
} from './follow-ups-queue.ts'

/** What has become of a job that should be in the queue. */
export type Lost = 'missing' | 'failed' | 'completed' | 'orphan'

export interface RestorerOptions {
  readonly redisUrl: string
  readonly prefix: string
  readonly maxAttempts: number
  readonly onError: (error: Error) => void
}

/** Jobs by their state in the queue. `waiting` are of OK events and ERROR events alike. */
export interface QueueCounts {
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly failed: number
}

/** Puts back what the queue lost. */
export interface Restorer {
  /**
   * Looks at the events' jobs in bulk, and leaves alone what waits, is delayed or runs. What is missing,
   * kept as failed or completed, or half there (a hash that no list knows) is removed and added anew.
   *
   * @param stillWanted asked after the look, about the keys that seem lost: an event that was settled
   *   meanwhile has no job any more, and has lost nothing. All, when it is not given.
   * @returns what was put back, and why.
   * @throws at the first failure of Redis; what was not reached is left for the next sweep.
   */
  restore(
    events: readonly Enqueued[],
    stillWanted?: (dedupeKeys: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Promise<{ dedupeKey: string; lost: Lost }[]>
  /** How many jobs the queue holds. @throws when Redis cannot be asked. */
  count(): Promise<QueueCounts>
  close(): Promise<void>
}

/** The longest that one command may take here, in milliseconds. A sweep must end although Redis is frozen. */
const COMMAND_MS = 5000

export function openRestorer(options: RestorerOptions): Restorer {
  const connection = workerConnection(options.redisUrl, options.onError)
  // Unlike a worker's blocking connection, this one may give up: the next sweep comes anyway.
  connection.options.commandTimeout = COMMAND_MS
  connection.options.maxRetriesPerRequest = 1
  const queue = new Queue<FollowUpJob>(QUEUE_NAME, {
    connection,
    prefix: options.prefix,
    skipWaitingForReady: true,
    skipVersionCheck: true,
  })
  queue.on('error', options.onError)

  return {
    async restore(events, stillWanted) {
      const seen = await look(connection, queue, events)
      const wanted = await stillWanted?.(seen.map(({ event }) => event.dedupeKey))
      const looked = seen.filter(({ event }) => wanted?.has(event.dedupeKey) ?? true)
      const removed = await Promise.all(
        looked.map(async (found) => ({
          ...found,
          // 0: the job is locked, so somebody runs it.
          gone:
            found.lost === 'missing' || (await queue.remove(jobId(found.event.dedupeKey))) === 1,
        })),
      )
      const lost = removed.filter((found) => found.gone)
      await queue.addBulk(
        lost.map(({ event }) => ({
          name: event.status,
          data: { dedupeKey: event.dedupeKey },
          opts: jobOptions(event, options.maxAttempts),
        })),
      )
      return lost.map(({ event, lost }) => ({ dedupeKey: event.dedupeKey, lost }))
    },
    async count() {
      const jobs = await queue.getJobCounts('wait', 'prioritized', 'active', 'delayed', 'failed')
      const of = (state: string) => jobs[state] ?? 0
      return {
        waiting: of('wait') + of('prioritized'),
        active: of('active'),
        delayed: of('delayed'),
        failed: of('failed'),
      }
    },
    async close() {
      await queue.close().catch(() => undefined)
      connection.disconnect()
    },
  }
}

interface Found {
  readonly event: Enqueued
  readonly lost: Lost
}

/**
 * Two pipelines for all events together. BullMQ's own `getState` scans the wait list for each id; here
 * only ids found in no sorted set and without a lock are looked for in the lists.
 */
async function look(redis: Redis, queue: Queue, events: readonly Enqueued[]): Promise<Found[]> {
  const lost: Found[] = []
  const unplaced: Enqueued[] = []
  const places = await pipelined(redis, events, (pipeline, id) => {
    pipeline.exists(queue.toKey(id))
    pipeline.exists(`${queue.toKey(id)}:lock`)
    for (const set of ['failed', 'completed', 'delayed', 'prioritized', 'waiting-children']) {
      pipeline.zscore(queue.toKey(set), id)
    }
  })
  for (const [i, event] of events.entries()) {
    const [hash, lock, failed, completed, ...alive] = places[i] ?? []
    if (hash === 0) lost.push({ event, lost: 'missing' })
    else if (lock === 1 || alive.some((score) => score !== null)) continue
    else if (failed !== null) lost.push({ event, lost: 'failed' })
    else if (completed !== null) lost.push({ event, lost: 'completed' })
    else unplaced.push(event)
  }
  // `wait` before `active`: a job that moves on between the two looks is seen in the second.
  const positions = await pipelined(redis, unplaced, (pipeline, id) => {
    for (const list of ['wait', 'paused', 'active']) pipeline.lpos(queue.toKey(list), id)
  })
  for (const [i, event] of unplaced.entries()) {
    if ((positions[i] ?? []).every((position) => position === null))
      lost.push({ event, lost: 'orphan' })
  }
  return lost
}

/** Sends the same commands for every event at once. @returns one list of answers for each event. */
async function pipelined(
  redis: Redis,
  events: readonly Enqueued[],
  commands: (pipeline: ReturnType<Redis['pipeline']>, id: string) => void,
): Promise<unknown[][]> {
  if (events.length === 0) return []
  const pipeline = redis.pipeline()
  for (const event of events) commands(pipeline, jobId(event.dedupeKey))
  const answers = (await pipeline.exec()) ?? []
  const each = answers.length / events.length
  const values = answers.map(([error, value]) => {
    if (error !== null) throw error
    return value
  })
  return events.map((_, i) => values.slice(i * each, (i + 1) * each))
}
