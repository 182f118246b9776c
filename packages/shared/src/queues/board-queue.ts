import { ErrorCode, Queue } from 'bullmq'
import { boardConnection } from './connections.ts'
import { type FollowUpJob, QUEUE_NAME } from './follow-ups-queue.ts'

export interface BoardQueueOptions {
  readonly redisUrl: string
  readonly prefix: string
  readonly onError: (error: Error) => void
}

/** The queue as a dashboard looks at it. */
export interface BoardQueue {
  readonly queue: Queue<FollowUpJob>
  isUp(): boolean
  close(): Promise<void>
}

/** Opens the queue for a dashboard. Redis may be down: then every look at it fails, until it comes. */
export function openBoardQueue(options: BoardQueueOptions): BoardQueue {
  const connection = boardConnection(options.redisUrl, options.onError)
  const queue = new Queue<FollowUpJob>(QUEUE_NAME, {
    connection,
    prefix: options.prefix,
    // Both together: with only the first, a Queue made while Redis is down refuses for ever.
    skipWaitingForReady: true,
    skipVersionCheck: true,
  })
  queue.on('error', options.onError)
  return {
    queue,
    isUp: () => connection.status === 'ready',
    async close() {
      await queue.close().catch(() => undefined)
      connection.disconnect()
    },
  }
}

/** Whether a retry failed because the job is gone or somewhere else by now: another took it, or the sweeper. */
export function hasMovedOn(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return code === ErrorCode.JobNotExist || code === ErrorCode.JobNotInState
}
