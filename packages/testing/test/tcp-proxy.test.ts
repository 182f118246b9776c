import { openTcpProxy, servers, type TcpProxy } from '@sume-inbox/testing'
import { Redis } from 'ioredis'
import mysql from 'mysql2/promise'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'

let proxy: TcpProxy
afterEach(() => proxy.close())

/** A connection through the proxy, and one past it. */
async function openMysql() {
  proxy = await openTcpProxy(servers().databaseUrl)
  const { pathname, username, password } = new URL(servers().databaseUrl)
  const url = new URL(proxy.url)
  Object.assign(url, { pathname, username, password })
  const past = await mysql.createConnection({ uri: servers().databaseUrl })
  const through = await mysql.createConnection({ uri: url.href })
  through.on('error', () => undefined)
  const table = `proxied_${process.pid}_${Math.floor(Math.random() * 1e9)}`
  await past.query(`CREATE TABLE ${table} (n INT)`)
  onTestFinished(async () => {
    through.destroy()
    await past.query(`DROP TABLE ${table}`)
    await past.end()
  })
  return {
    through,
    insert: (n: number) => through.execute(`INSERT INTO ${table} VALUES (?)`, [n]),
    rows: async () => ((await past.query(`SELECT n FROM ${table}`))[0] as { n: number }[]).length,
    table,
  }
}

test('the answer of a prepared statement is lost, and what it did is not', async () => {
  const { insert, rows, table } = await openMysql()
  await insert(1)
  const lost = proxy.loseAnswer(`INSERT INTO ${table}`)
  await expect(insert(2)).rejects.toThrow(/closed|lost|reset/i)
  await lost
  expect(await rows()).toBe(2)
})

test('other requests pass while one is waited for, and the loss happens once', async () => {
  const { through, insert, rows } = await openMysql()
  const lost = proxy.loseAnswer('COMMIT')
  await through.query('START TRANSACTION')
  await insert(1)
  expect(await rows()).toBe(0)
  await expect(through.query('COMMIT')).rejects.toThrow(/closed|lost|reset/i)
  await lost
  expect(await rows()).toBe(1)
})

test('what follows on the connection of a held request is told from the same on another one', async () => {
  const { through, insert, rows, table } = await openMysql()
  const other = await mysql.createConnection({ uri: proxy.url })
  const held = proxy.hold(`INSERT INTO ${table}`)
  await through.query('START TRANSACTION')
  const inserted = insert(1)
  await held.reached
  const lost = held.sameConnection.loseAnswer('COMMIT')
  await other.query('COMMIT')
  held.release()
  await inserted
  await expect(through.query('COMMIT')).rejects.toThrow(/closed|lost|reset/i)
  await lost
  expect(await rows()).toBe(1)
  await other.end()
})

test('a held request reaches nobody until it is released', async () => {
  const { through, insert, rows, table } = await openMysql()
  const held = proxy.hold(`INSERT INTO ${table}`)
  const inserted = insert(1)
  await held.reached
  expect(await rows()).toBe(0)
  held.release()
  await inserted
  expect(await rows()).toBe(1)
  // Nothing is held any more.
  await through.query('SELECT 1')
})

let redis: Redis | undefined
beforeEach(() => {
  redis = undefined
})
afterEach(() => redis?.disconnect())

async function openRedis(): Promise<Redis> {
  proxy = await openTcpProxy(servers().redisUrl)
  redis = new Redis(proxy.url, { retryStrategy: () => 20, maxRetriesPerRequest: 0 })
  redis.on('error', () => undefined)
  expect(await redis.ping()).toBe('PONG')
  return redis
}

test('delayed, everything arrives in order and so much later', async () => {
  const through = await openRedis()
  proxy.delay(50)
  const start = performance.now()
  expect(await Promise.all(['a', 'b', 'c'].map((word) => through.echo(word)))).toEqual([
    'a',
    'b',
    'c',
  ])
  // Either way costs one delay; a timer may fire a millisecond early.
  expect(performance.now() - start).toBeGreaterThan(90)
  proxy.mend()
  expect(await through.echo('d')).toBe('d')
})

test('cut after so many bytes: an answer ends in the middle, the next connection works after mending', async () => {
  const through = await openRedis()
  proxy.cutAfter(10)
  await expect(through.echo('longer than ten bytes')).rejects.toThrow(
    /closed|reset|Command timed out|max retries/i,
  )
  proxy.mend()
  await expect.poll(() => through.echo('whole').catch(() => 'not yet')).toBe('whole')
})

test('swallowed requests are never carried out; swallowed answers are of requests that were', async () => {
  const through = await openRedis()
  const past = new Redis(servers().redisUrl)
  onTestFinished(() => past.disconnect())
  const key = `proxied:${process.pid}`
  await past.del(key)
  proxy.swallowAnswers()
  const unanswered = through.incr(key).catch(() => 'cut')
  await expect.poll(() => past.get(key)).toBe('1')
  proxy.swallowRequests()
  const unheard = through.incr(key).catch(() => 'cut')
  proxy.mend()
  proxy.cut()
  expect(await Promise.all([unanswered, unheard])).toEqual(['cut', 'cut'])
  expect(await past.get(key)).toBe('1')
  await past.del(key)
})
