import { openServices, type Services } from '@sume-inbox/services'
import { migrate } from '@sume-inbox/shared/ledger'
import { jobBody, startApp, TEST_SECRET, waitFor } from '@sume-inbox/testing'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, openDoor, signed } from './door.ts'

/** MySQL and Redis of this file's own, to be stopped, frozen and filled. */
let own: Services & Required<Pick<Services, 'mysql' | 'redis'>>

beforeAll(async () => {
  own = (await openServices({ private: true })) as typeof own
})
afterAll(() => own.close())

const openOwnDoor = (env: Record<string, string> = {}) =>
  openDoor({ databaseUrl: own.databaseUrl, redisUrl: own.redisUrl, env })

const send = (url: string, body: Buffer) => ask(url, { body, headers: signed(body) })

const readiness = (url: string) => ask(url, { method: 'GET', path: '/health/ready' })

const untilReady = (url: string, degraded?: readonly string[]) =>
  waitFor(`${url} to be ready${degraded ? ' but degraded' : ''}`, async () => {
    const { status, body } = await readiness(url)
    const seen = (body as { degraded?: string[] }).degraded
    return status === 200 && JSON.stringify(seen) === JSON.stringify(degraded)
  })

const unavailable = (ms: number) => ({
  status: 503,
  body: { error: 'unavailable' },
  headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
  ms: expect.toSatisfy((took: number) => took < ms),
})

/** The answer to a delivery that Redis could not take: accepted all the same. */
const acceptedWithin = (ms: number) => ({
  status: 200,
  body: { receipt: 'accepted' },
  ms: expect.toSatisfy((took: number) => took < ms),
})

test('MySQL stopped: 503 within 5 s, nothing accepted; after its return 200 without a restart', async () => {
  await using door = await openOwnDoor()
  const { jobId, body } = jobBody()
  expect((await send(door.url, jobBody().body)).status).toBe(200)
  await own.mysql.stop()
  expect(await send(door.url, body)).toMatchObject(unavailable(5000))
  expect(await send(door.url, Buffer.from('not JSON'))).toMatchObject(unavailable(5000))
  // What is not signed needs no ledger to be refused.
  expect((await ask(door.url, { body })).status).toBe(401)
  await waitFor('not ready', async () => (await readiness(door.url)).status === 503)
  expect((await readiness(door.url)).body).toMatchObject({
    because: 'the database is out of reach',
  })
  expect((await ask(door.url, { method: 'GET', path: '/health/live' })).status).toBe(200)
  await own.mysql.start()
  expect(await waitForAccepted(door.url, body)).toMatchObject({ receipt: 'accepted' })
  expect(await door.rows(jobId)).toMatchObject([{ deliveries: 1 }])
  await untilReady(door.url)
})

test('MySQL frozen: every one of many deliveries is 503 within 5 s', async () => {
  await using door = await openOwnDoor()
  const bodies = Array.from({ length: 60 }, () => jobBody().body)
  await own.mysql.freeze()
  try {
    const answers = await Promise.all(bodies.map((body) => send(door.url, body)))
    for (const answer of answers) expect(answer).toMatchObject(unavailable(5000))
  } finally {
    await own.mysql.thaw()
  }
  const { body } = jobBody()
  expect(await waitForAccepted(door.url, body)).toMatchObject({ receipt: 'accepted' })
})

test('a receiver starts while MySQL is down, is not ready, and becomes ready by itself', async () => {
  await using before = await openOwnDoor()
  await own.mysql.stop()
  const receiver = await before.another()
  const { body } = jobBody()
  expect(await send(receiver.url, body)).toMatchObject(unavailable(5000))
  expect((await readiness(receiver.url)).status).toBe(503)
  const said = (msg: string) => () => receiver.lines.some((line) => line['msg'] === msg)
  await waitFor('a line about it', said('not ready: the database is out of reach; waiting'))
  await own.mysql.start()
  await untilReady(receiver.url)
  await waitFor('a line about it', said('ready'))
  expect(await send(receiver.url, body)).toMatchObject({ body: { receipt: 'accepted' } })
})

test('on a database that is not migrated: not ready and 503, until it is migrated', async () => {
  await using door = await openDoor({ migrated: false })
  const { jobId, body } = jobBody()
  expect(await send(door.url, body)).toMatchObject(unavailable(5000))
  expect(await readiness(door.url)).toMatchObject({
    status: 503,
    body: { because: 'the database is not migrated' },
  })
  await migrate(door.database.url)
  await untilReady(door.url)
  expect(await send(door.url, body)).toMatchObject({ body: { receipt: 'accepted' } })
  expect(await door.rows(jobId)).toMatchObject([{ deliveries: 1 }])
})

test('a receiver starts while Redis is down: accepted within 2 s; after its return the next one is enqueued', async () => {
  await using before = await openOwnDoor()
  await own.redis.stop()
  const receiver = await before.another()
  const down = jobBody()
  expect(await send(receiver.url, down.body)).toMatchObject(acceptedWithin(2000))
  expect(await before.rows(down.jobId)).toMatchObject([{ state: 'claimed', deliveries: 1 }])
  await untilReady(receiver.url, ['redis'])
  await own.redis.start()
  await untilReady(receiver.url)
  const up = jobBody()
  expect(await send(receiver.url, up.body)).toMatchObject({ body: { receipt: 'accepted' } })
  // The one that came while Redis was down is the sweeper's.
  expect(await before.queued()).toEqual([up.jobId])
})

test.each<[string, () => Promise<unknown> | void, () => Promise<unknown> | void]>([
  ['stopped', () => own.redis.stop(), () => own.redis.start()],
  ['frozen', () => own.redis.freeze(), () => own.redis.thaw()],
  ['full', () => maxMemory('1mb'), () => maxMemory('0')],
])(
  'Redis %s under load: every delivery is accepted within 2 s, and none waits for long',
  async (_, breakIt, mendIt) => {
    await using door = await openOwnDoor()
    const first = jobBody()
    await send(door.url, first.body)
    expect(await door.queued()).toEqual([first.jobId])
    await breakIt()
    const deliveries = Array.from({ length: 40 }, () => jobBody())
    try {
      const together = deliveries.slice(0, 20).map(({ body }) => send(door.url, body))
      for (const answer of await Promise.all(together))
        expect(answer).toMatchObject(acceptedWithin(2000))
      const start = performance.now()
      for (const { body } of deliveries.slice(20))
        expect(await send(door.url, body)).toMatchObject(acceptedWithin(2000))
      // One after another: each second at most one of them finds out that Redis is still away.
      expect(performance.now() - start).toBeLessThan(10_000)
    } finally {
      await mendIt()
    }
    for (const { jobId } of deliveries)
      expect(await door.rows(jobId)).toMatchObject([{ state: 'claimed', deliveries: 1 }])
    await untilReady(door.url)
    const after = jobBody()
    await send(door.url, after.body)
    expect(await door.queued()).toContain(after.jobId)
    const failures = door.process.lines.filter((line) => line['enqueued'] === false)
    expect(failures.length).toBeGreaterThanOrEqual(deliveries.length)
  },
)

test('a receiver without any server is live, refuses in time, and stops with exit code 0', async () => {
  await using receiver = await startApp('receiver', {
    DATABASE_URL: 'mysql://root@127.0.0.1:1/nowhere',
    REDIS_URL: 'redis://127.0.0.1:1',
    SUME_WEBHOOK_SECRETS: TEST_SECRET,
  })
  expect((await ask(receiver.url, { method: 'GET', path: '/health/live' })).status).toBe(200)
  expect(await send(receiver.url, jobBody().body)).toMatchObject(unavailable(5000))
  expect(await receiver.stop()).toBe(0)
})

/** Sends until it is accepted, as Sume does: what was refused before was not taken in. */
const waitForAccepted = (url: string, body: Buffer) =>
  waitFor('a delivery to be accepted', async () => {
    const answer = await send(url, body)
    return answer.status === 200 ? answer.body : undefined
  })

async function maxMemory(bytes: string): Promise<void> {
  const redis = new Redis(own.redisUrl)
  await redis.config('SET', 'maxmemory', bytes)
  redis.disconnect()
}
