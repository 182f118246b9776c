import { type Enqueued, QUEUE_NAME } from '@sume-inbox/shared/queues'
import { type Job, type Processor, Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'

/** The queue as others see it: to look into it, and to bring its jobs into every state. */
export interface QueueFixture {
  readonly queue: Queue
  readonly redis: Redis
  /** Takes the next job as a worker does, and holds its lock. */
  take(): Promise<Job>
  /** Works until `done` says so. */
  work(processor: Processor, done: () => boolean): Promise<void>
  close(): Promise<void>
}

export function openQueue(redisUrl: string, prefix: string): QueueFixture {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
  redis.on('error', () => undefined)
  const queue = new Queue(QUEUE_NAME, { connection: redis, prefix })
  queue.on('error', () => undefined)
  const taker = new Worker(QUEUE_NAME, null, { connection: redis, prefix, autorun: false })
  taker.on('error', () => undefined)
  return {
    queue,
    redis,
    async take() {
      const job = await taker.getNextJob('a worker', { block: false })
      if (job === undefined) throw new Error('there is no job to take')
      return job
    },
    async work(processor, done) {
      const worker = new Worker(QUEUE_NAME, processor, { connection: redis, prefix })
      await new Promise<void>((resolve) => {
        const check = () => {
          if (done()) resolve()
        }
        worker.on('completed', check)
        worker.on('failed', check)
      })
      await worker.close()
    },
    async close() {
      await taker.close()
      await queue.close()
      redis.disconnect()
    },
  }
}

export const ok = (dedupeKey: string): Enqueued => ({ dedupeKey, status: 'OK' })
export const error = (dedupeKey: string): Enqueued => ({ dedupeKey, status: 'ERROR' })
