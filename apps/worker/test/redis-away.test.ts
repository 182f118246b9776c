import { join } from 'node:path'
import { openServices, type Services } from '@sume-inbox/services'
import { type AppProcess, startApp, waitFor } from '@sume-inbox/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Bench, openBench } from './harness.ts'

let services: Services
let bench: Bench
let worker: AppProcess | undefined
beforeAll(async () => {
  services = await openServices({ private: true })
}, 180_000)
afterAll(() => services.close())
beforeEach(async () => {
  bench = await openBench(services)
})
afterEach(async () => {
  await worker?.[Symbol.asyncDispose]()
  await bench[Symbol.asyncDispose]()
})

const start = () =>
  startApp('worker', {
    DATABASE_URL: bench.databaseUrl,
    REDIS_URL: bench.redisUrl,
    QUEUE_PREFIX: bench.prefix,
    FOLLOW_UPS: join(import.meta.dirname, 'fixtures/follow-ups.ts'),
    SWEEP_EVERY_MS: '200',
    BACKOFF_MS: '20',
  })
const ready = async (process: AppProcess) => {
  const response = await fetch(`${process.internalUrl}/health/ready`)
  return { status: response.status, body: await response.json() }
}

test('with Redis down at the start the worker is degraded, and goes on when Redis comes', async () => {
  await services.redis?.stop()
  worker = await start()
  expect(await ready(worker)).toEqual({
    status: 200,
    body: { status: 'ready', degraded: ['redis'] },
  })
  const key = await bench.record({ graceMs: 0 })
  await waitFor('a sweep to fail', () => worker?.output().includes('sweeper failed'))
  expect(await bench.row(key)).toMatchObject({ state: 'claimed', attempts: 0 })
  await services.redis?.start()
  expect(await bench.reached(key, 'done')).toMatchObject({ attempts: 1 })
  expect(await worker.stop()).toBe(0)
})

test('with Redis going away and coming back, events go on to done', async () => {
  worker = await start()
  await bench.reached(await bench.add(), 'done')
  await services.redis?.stop()
  const key = await bench.record({ graceMs: 0 })
  await services.redis?.start()
  expect(await bench.reached(key, 'done')).toMatchObject({ attempts: 1 })
})

test('with Redis down a SIGTERM ends the worker with 0 within the grace', async () => {
  worker = await start()
  await bench.reached(await bench.add(), 'done')
  await services.redis?.stop()
  const began = performance.now()
  expect(await worker.stop()).toBe(0)
  // Nothing runs, so there is nothing to wait the whole grace for.
  expect(performance.now() - began).toBeLessThan(5000)
  await services.redis?.start()
})

test('with Redis frozen a SIGTERM ends the worker with 0 within the grace', async () => {
  worker = await start()
  await bench.reached(await bench.add(), 'done')
  await services.redis?.freeze()
  const began = performance.now()
  expect(await worker.stop()).toBe(0)
  expect(performance.now() - began).toBeLessThan(8000)
  await services.redis?.thaw()
})

test('with MySQL down at the start the worker is not ready, and goes on when MySQL comes', async () => {
  const key = await bench.add()
  await services.mysql?.stop()
  worker = await start()
  expect(await ready(worker)).toEqual({
    status: 503,
    body: { status: 'not ready', because: 'MySQL is out of reach' },
  })
  const said = (msg: string) => () => worker?.lines.some((line) => line['msg'] === msg)
  await waitFor('a line about it', said('not ready: MySQL is out of reach; waiting'))
  await services.mysql?.start()
  await waitFor('a line about it', said('ready'))
  expect(await bench.reached(key, 'done')).toMatchObject({ attempts: 1 })
  await waitFor('ready', async () => worker && (await ready(worker)).status === 200)
})
