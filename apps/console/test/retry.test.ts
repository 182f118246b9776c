import { jobId, QUEUE_NAME, workerConnection } from '@sume-inbox/shared/queues'
import { openLog } from '@sume-inbox/shared/telemetry'
import { waitFor } from '@sume-inbox/testing'
import { UnrecoverableError, Worker } from 'bullmq'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RevivingAdapter } from '../src/board/reviving-adapter.ts'
import { ask, login, MAX_ATTEMPTS, OPERATOR, openRoom, OURS, type Room } from './room.ts'

let room: Room
let cookie: string
beforeEach(async () => {
  room = await openRoom()
  cookie = await login(room.url, OPERATOR)
})
afterEach(() => room[Symbol.asyncDispose]())

const put = (path: string) =>
  ask(room.url, `/queues/api/queues/follow-ups${path}`, { method: 'PUT', cookie, headers: OURS })
const retry = (dedupeKey: string) => put(`/${jobId(dedupeKey)}/retry`)

const BY_CONSOLE = [{ what: 'retry', replayed_by: 'operator (console)', why: null }]

test('Retry of a dead event gives it one more attempt: done, attempts right, told in the ledger', async () => {
  await room.startWorker()
  const [key = ''] = await room.deadEvents(1)
  room.mend()
  expect((await retry(key)).status).toBe(204)
  expect(await room.reached(key, 'done')).toMatchObject({ attempts: MAX_ATTEMPTS })
  expect(await room.replays(key)).toMatchObject(BY_CONSOLE)
  await waitFor('its job to complete', async () => (await room.jobState(key)) === 'completed')
})

test('a retried event whose follow-up fails again is dead again, after that one attempt', async () => {
  await room.startWorker()
  const [key = ''] = await room.deadEvents(1)
  const { last_seen: _, ...before } = await room.row(key)
  expect((await retry(key)).status).toBe(204)
  await waitFor('the retry to be told', async () => (await room.replays(key)).length === 1)
  const { attempts, state } = await room.reached(key, 'dead')
  expect({ attempts, state }).toEqual({ attempts: before.attempts, state: 'dead' })
})

test('Retry all revives each of twenty dead events: all done, attempts right', async () => {
  await room.startWorker()
  const keys = await room.deadEvents(20)
  room.mend()
  const answer = await put('/retry/failed')
  expect(JSON.parse(answer.text)).toEqual({ retried: 20, skipped: 0 })
  for (const key of keys) {
    expect(await room.reached(key, 'done')).toMatchObject({ attempts: MAX_ATTEMPTS })
    expect(await room.replays(key)).toMatchObject(BY_CONSOLE)
  }
  expect(await room.queue.getFailedCount()).toBe(0)
})

test('Retry of a job whose event is done runs nothing again', async () => {
  await room.startWorker()
  const [key = ''] = await room.deadEvents(1)
  room.mend()
  await retry(key)
  const done = await room.reached(key, 'done')
  await waitFor('its job to complete', async () => (await room.jobState(key)) === 'completed')
  const before = (await room.queue.getJob(jobId(key)))?.finishedOn
  // Not offered on the page; by the API it can be asked for.
  expect((await retry(key)).status).toBe(204)
  await waitFor('the job to be through again', async () => {
    const job = await room.queue.getJob(jobId(key))
    return job?.finishedOn !== undefined && job.finishedOn !== before
  })
  expect(await room.row(key)).toEqual(done)
  expect(await room.replays(key)).toHaveLength(1)
})

test('Retry of a failed job whose event is not dead leaves the row to the worker', async () => {
  const key = await room.add()
  // As after BullMQ's own "stalled too often": failed in the queue, claimed in the ledger.
  await failInQueue(key)
  const row = await room.row(key)
  expect((await retry(key)).status).toBe(204)
  expect(await room.row(key)).toEqual(row)
  expect(await room.replays(key)).toEqual([])
  room.mend()
  await room.startWorker()
  expect(await room.reached(key, 'done')).toMatchObject({ attempts: 1 })
})

test('Retry of an event whose job the sweeper has just put back revives it and goes well', async () => {
  await room.startWorker()
  const [key = ''] = await room.deadEvents(1)
  const { ledger, queue } = room
  const log = openLog('test', 'silent')
  const adapter = new RevivingAdapter(queue, { ledger, maxAttempts: MAX_ATTEMPTS, log })
  const job = await adapter.getJob(jobId(key))
  await queue.remove(jobId(key))
  await job?.retry('failed')
  expect(await room.row(key)).toMatchObject({ state: 'claimed', attempts: MAX_ATTEMPTS - 1 })
  expect(await room.replays(key)).toMatchObject(BY_CONSOLE)
})

test('Retry of a job that is not failed is refused', async () => {
  const key = await room.add()
  expect((await retry(key)).status).toBe(400)
  expect((await retry('no such event')).status).toBe(404)
  expect(await room.row(key)).toMatchObject({ state: 'claimed', attempts: 0 })
})

/** Lets BullMQ fail the job by itself, as it does with one that stalled too often: the ledger is not told. */
async function failInQueue(dedupeKey: string): Promise<void> {
  const connection = workerConnection(room.env.REDIS_URL, () => undefined)
  const fail = () => Promise.reject(new UnrecoverableError('job stalled too often'))
  const prefix = room.env.QUEUE_PREFIX
  const worker = new Worker(QUEUE_NAME, fail, { connection, prefix })
  worker.on('error', () => undefined)
  await waitFor('its job to fail', async () => (await room.jobState(dedupeKey)) === 'failed')
  await worker.close()
  connection.disconnect()
}
