import { setTimeout as sleep } from 'node:timers/promises'
import { type FollowUpJob, QUEUE_NAME, workerConnection } from '@sume-inbox/shared/queues'
import {
  type Backoff,
  backoffMs,
  type Clock,
  errorText,
  toError,
  withDeadline,
} from '@sume-inbox/shared/runtime'
import type { Events } from '@sume-inbox/shared/telemetry'
import { DelayedError, type Job, UnrecoverableError, Worker } from 'bullmq'
import type { Processor } from './processor.ts'
import type { Verdict } from './verdict.ts'

export interface ConsumerOptions {
  readonly redisUrl: string
  readonly prefix: string
  readonly concurrency: number
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly events: Events
  readonly clock: Clock
}

/** Takes jobs from the queue, hands each to the processor, and does with the job what it says. */
export interface Consumer {
  /** Whether jobs are taken; also while Redis is away, because that ends by itself. */
  isRunning(): boolean
  isRedisUp(): boolean
  /** Takes no more jobs. @returns when those under way are through and, if Redis listens, the queue knows. */
  drain(): Promise<void>
  /** Cuts the connections. A job still under way is left to its lease. */
  close(): Promise<void>
}

/** A failed attempt with the delay that the processor computed, so that the row and the queue wait equally long. */
class AttemptFailed extends Error {
  readonly delayMs: number | undefined

  constructor(message: string, delayMs?: number) {
    super(message)
    this.name = 'AttemptFailed'
    this.delayMs = delayMs
    // BullMQ keeps stacks in Redis; the ledger has the error, and this stack tells nothing.
    this.stack = message
  }
}

/** How long the queue has, after the last attempt, to be told how it ended. */
const GOODBYE_MS = 1000

export function openConsumer(process: Processor, options: ConsumerOptions): Consumer {
  const { events } = options
  const onError = (error: Error) => events.emit('background:error', { where: 'queue', error })
  const connection = workerConnection(options.redisUrl, onError)
  const underWay = new Set<Promise<void>>()

  const worker = new Worker<FollowUpJob>(
    QUEUE_NAME,
    // No third parameter: BullMQ would hand out a signal of its own, which knows nothing of the lease.
    (job, token) => tracked(async () => obey(await judge(job), job, token)),
    {
      connection,
      prefix: options.prefix,
      concurrency: options.concurrency,
      lockDuration: 30_000,
      stalledInterval: 15_000,
      // Beyond it BullMQ fails a job without asking; the row's own count is what ends the attempts.
      maxStalledCount: options.maxAttempts + 1,
      runRetryDelay: 1000,
      settings: {
        backoffStrategy: (attemptsMade, _type, error) =>
          (error as Partial<AttemptFailed> | undefined)?.delayMs ??
          backoffMs(attemptsMade, options.backoff),
      },
    },
  )
  // Also every "missing lock": the ledger has settled by then, so there is nothing left to do about it.
  worker.on('error', onError)

  async function tracked(work: () => Promise<void>): Promise<void> {
    const running = work()
    underWay.add(running)
    return running.finally(() => underWay.delete(running))
  }

  /** BullMQ's own close waits for Redis for ever, also when there is nothing left to tell it. */
  async function idle(): Promise<void> {
    do {
      await Promise.allSettled(underWay)
      await sleep(GOODBYE_MS, undefined, { ref: false })
    } while (underWay.size > 0)
  }

  async function judge(job: Job<FollowUpJob>): Promise<Verdict> {
    const { dedupeKey } = job.data as Partial<FollowUpJob>
    if (typeof dedupeKey !== 'string') return { verdict: 'dead', error: 'the job names no event' }
    try {
      return await process(dedupeKey)
    } catch (thrown) {
      events.emit('background:error', { where: 'ledger', error: toError(thrown) })
      throw new AttemptFailed(`the ledger could not be asked: ${errorText(thrown)}`)
    }
  }

  async function obey(verdict: Verdict, job: Job, token: string | undefined): Promise<void> {
    switch (verdict.verdict) {
      case 'completed':
        return
      case 'retry':
        throw new AttemptFailed(verdict.error, verdict.delayMs)
      case 'dead':
        throw unrecoverable(verdict.error)
      case 'delay':
        await job.moveToDelayed(options.clock() + verdict.ms, token).catch(onError)
        // Also when the move failed: any other end would count as this job's failure or success.
        throw new DelayedError()
    }
  }

  return {
    isRunning: () => worker.isRunning(),
    isRedisUp: () => connection.status === 'ready',
    drain: () => Promise.race([worker.close(), idle()]),
    async close() {
      connection.disconnect()
      await withDeadline(worker.disconnect(), 500, 'closing the queue').catch(() => undefined)
    },
  }
}

function unrecoverable(message: string): UnrecoverableError {
  const error = new UnrecoverableError(message)
  error.stack = message
  return error
}
