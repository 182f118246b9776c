import { createHash } from 'node:crypto'
import type { JobsOptions } from 'bullmq'

/** The one queue. Its name must not contain `:`, and every process must use the same prefix. */
export const QUEUE_NAME = 'follow-ups'

/** All that a job carries: a body in Redis would be shown by every dashboard. */
export interface FollowUpJob {
  readonly dedupeKey: string
}

/** What decides a job's place in the queue. */
export interface Enqueued {
  readonly dedupeKey: string
  readonly status: 'OK' | 'ERROR'
}

/**
 * The job's id: the same for the same event, for ever. Hashed, because BullMQ refuses ids with `:`
 * and integers, and takes an empty one for none.
 */
export const jobId = (dedupeKey: string): string =>
  `evt-${createHash('sha256').update(dedupeKey).digest('hex')}`

const HOUR = 3600
const OK_PRIORITY = 10

/**
 * A job's options. BullMQ may forget or repeat a job as it likes: the ledger decides. `maxAttempts` is
 * the queue's patience only; the row's own count ends the attempts.
 */
export const jobOptions = ({ dedupeKey, status }: Enqueued, maxAttempts: number): JobsOptions => ({
  jobId: jobId(dedupeKey),
  attempts: maxAttempts,
  backoff: { type: 'ledger' },
  // Jobs without a priority go before all others, in order: ERROR first. (`lifo` would reverse them.)
  ...(status === 'ERROR' ? {} : { priority: OK_PRIORITY }),
  removeOnComplete: { age: HOUR, count: 1000 },
  removeOnFail: { age: 30 * 24 * HOUR, count: 10_000 },
})
