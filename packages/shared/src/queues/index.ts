export { type BoardQueue, hasMovedOn, openBoardQueue } from './board-queue.ts'
export { workerConnection } from './connections.ts'
export {
  type Enqueued,
  type FollowUpJob,
  jobId,
  jobOptions,
  QUEUE_NAME,
} from './follow-ups-queue.ts'
export { inspectRedis, type RedisInfo } from './inspect-redis.ts'
export { openProducer, type Producer, type ProducerOptions } from './producer.ts'
export {
  type Lost,
  openRestorer,
  type QueueCounts,
  type Restorer,
  type RestorerOptions,
} from './restorer.ts'
