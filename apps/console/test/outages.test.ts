import { once } from 'node:events'
import { connect } from 'node:net'
import { jobId } from '@sume-inbox/shared/queues'
import { openTcpProxy, servers, type TcpProxy } from '@sume-inbox/testing'
import { expect, test } from 'vitest'
import { ask, login, OPERATOR, openRoom, OURS } from './room.ts'

const GRACE_MS = 3000

/** A room whose Redis and MySQL can be taken away from the console. */
async function openProxied() {
  const redis = await openTcpProxy(servers().redisUrl)
  const mysql = await openTcpProxy(servers().databaseUrl)
  const room = await openRoom()
  const database = new URL(room.env.DATABASE_URL)
  // The servers may be at another host than the proxy.
  database.host = new URL(mysql.url).host
  const databaseUrl = database.href
  const away = await room.another({
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis.url,
    DATABASE_TIMEOUT_MS: '500',
    STOP_GRACE_MS: String(GRACE_MS),
  })
  const cookie = await login(away.url, OPERATOR)
  return {
    room,
    redis,
    mysql,
    databaseUrl,
    console: away,
    board: () => ask(away.url, '/queues/api/queues', { cookie }),
    ready: async () => {
      const answer = await ask(away.url, '/health/ready')
      return { status: answer.status, ...(JSON.parse(answer.text) as object) }
    },
    retry: (key: string) =>
      ask(away.url, `/queues/api/queues/follow-ups/${jobId(key)}/retry`, {
        method: 'PUT',
        cookie,
        headers: OURS,
      }),
    async [Symbol.asyncDispose]() {
      await room[Symbol.asyncDispose]()
      await redis.close()
      await mysql.close()
    },
  }
}

/** The server behind it answers nothing more, and what is open goes. */
function freeze(proxy: TcpProxy) {
  proxy.swallowRequests()
  proxy.cut()
}

const OUR_WORDS = { error: 'Redis or MySQL did not answer. The log of the console says more.' }

test('with Redis frozen the board says so within seconds, retries revive nothing, and it all comes back', async () => {
  await using there = await openProxied()
  await there.room.startWorker()
  const [key = ''] = await there.room.deadEvents(1)
  const row = await there.room.row(key)
  expect((await there.board()).status).toBe(200)
  freeze(there.redis)
  for (const answer of await Promise.all([there.board(), there.retry(key)])) {
    expect(answer.status).toBe(500)
    expect(JSON.parse(answer.text)).toEqual(OUR_WORDS)
  }
  expect(await there.room.row(key)).toEqual(row)
  await expect.poll(there.ready).toEqual({ status: 'ready', degraded: ['redis'] })
  there.redis.mend()
  there.redis.cut()
  await expect.poll(async () => (await there.board()).status, { timeout: 10_000 }).toBe(200)
  await expect.poll(there.ready, { timeout: 5000 }).toEqual({ status: 'ready' })
})

test('with MySQL away the queue is shown, and a retry leaves the job as it is', async () => {
  await using there = await openProxied()
  await there.room.startWorker()
  const [key = ''] = await there.room.deadEvents(1)
  there.room.mend()
  freeze(there.mysql)
  expect((await there.board()).status).toBe(200)
  const answer = await there.retry(key)
  expect(answer.status).toBe(500)
  expect(JSON.parse(answer.text)).toEqual(OUR_WORDS)
  expect(await there.room.jobState(key)).toBe('failed')
  expect(await there.room.row(key)).toMatchObject({ state: 'dead' })
  await expect
    .poll(there.ready)
    .toEqual({ status: 'not ready', because: 'the database is out of reach' })
  there.mysql.mend()
  there.mysql.cut()
  await expect.poll(async () => (await there.retry(key)).status).toBe(204)
  await there.room.reached(key, 'done')
})

test('SIGTERM ends it within its grace, exit code 0, with Redis frozen and a request that never ends', async () => {
  await using there = await openProxied()
  freeze(there.redis)
  const { hostname, port } = new URL(there.console.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(
    'POST /login HTTP/1.1\r\nhost: x\r\nsec-fetch-site: same-origin\r\ncontent-length: 1000\r\n\r\npass',
  )
  const start = performance.now()
  expect(await there.console.stop()).toBe(0)
  expect(performance.now() - start).toBeLessThan(GRACE_MS)
  socket.destroy()
})

test('it starts with MySQL and Redis away, and is ready when they come', async () => {
  await using there = await openProxied()
  freeze(there.redis)
  freeze(there.mysql)
  const late = await there.room.another({
    DATABASE_URL: there.databaseUrl,
    REDIS_URL: there.redis.url,
    DATABASE_TIMEOUT_MS: '500',
  })
  const status = async () => (await ask(late.url, '/health/ready')).status
  expect(await status()).toBe(503)
  for (const proxy of [there.redis, there.mysql]) {
    proxy.mend()
    proxy.cut()
  }
  await expect.poll(status, { timeout: 10_000 }).toBe(200)
})
