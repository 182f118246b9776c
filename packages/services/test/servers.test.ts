import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Services } from '@sume-inbox/services'
import { Redis } from 'ioredis'
import mysql from 'mysql2/promise'
import { expect, test } from 'vitest'
import { onContainers, roomForServices } from './room.ts'

const room = roomForServices()

test('settings are durable and nobody gets in without a password', async () => {
  const services = await room.open()
  const variables = await query(
    services.databaseUrl,
    "SHOW VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'bind_address', 'skip_name_resolve', 'innodb_doublewrite')",
  )
  expect(Object.fromEntries(variables.map((row) => [row['Variable_name'], row['Value']]))).toEqual({
    // A container listens on its own network; its port is published on loopback.
    bind_address: onContainers ? '0.0.0.0' : '127.0.0.1',
    innodb_doublewrite: 'ON',
    innodb_flush_log_at_trx_commit: '1',
    skip_name_resolve: 'ON',
  })
  const redis = new Redis(services.redisUrl)
  for (const [name, value] of Object.entries({
    appendonly: 'yes',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction',
    ...(onContainers ? {} : { bind: '127.0.0.1' }),
  })) {
    expect(await redis.config('GET', name)).toEqual([name, value])
  }
  redis.disconnect()

  const asRoot = new URL(services.databaseUrl)
  asRoot.username = 'root'
  asRoot.password = ''
  await expect(query(asRoot.href, 'SELECT 1')).rejects.toThrow(/denied/)
  const bare = new Redis({ port: Number(new URL(services.redisUrl).port) })
  bare.on('error', () => undefined)
  await expect(bare.get('a')).rejects.toThrow(/NOAUTH/)
  bare.disconnect()
})

test('what was committed is there after a stop and after a kill, on the same port', async () => {
  const services = await room.open()
  const { mysql: server, redis } = faultable(services)
  await query(services.databaseUrl, 'CREATE TABLE t (n INT) ENGINE=InnoDB')
  await query(services.databaseUrl, 'INSERT INTO t VALUES (1)')
  const first = await server.pid()
  await server.stop()
  await expect(server.pid()).rejects.toThrow('does not run')
  await expect(query(services.databaseUrl, 'SELECT 1')).rejects.toThrow('ECONNREFUSED')
  await server.start()
  expect(await server.pid()).not.toBe(first)
  await query(services.databaseUrl, 'INSERT INTO t VALUES (2)')
  await server.kill()
  await server.start()
  expect(await query(services.databaseUrl, 'SELECT n FROM t ORDER BY n')).toEqual([
    { n: 1 },
    { n: 2 },
  ])

  const before = new Redis(services.redisUrl)
  await before.set('a', 'b')
  before.disconnect()
  await redis.stop()
  await redis.start()
  const after = new Redis(services.redisUrl)
  expect(await after.get('a')).toBe('b')
  after.disconnect()
})

test('a frozen server answers nothing until it is thawed, and can be stopped frozen', async () => {
  const services = await room.open()
  const { redis: server } = faultable(services)
  const client = new Redis(services.redisUrl)
  await client.ping()
  await server.freeze()
  let answered = false
  const pong = client.ping().then(() => (answered = true))
  const waiting = new Redis(services.redisUrl, { commandTimeout: 300, lazyConnect: false })
  waiting.on('error', () => undefined)
  await expect(waiting.ping()).rejects.toThrow('timed out')
  expect(answered).toBe(false)
  await server.thaw()
  await pong
  waiting.disconnect()
  client.disconnect()
  await server.freeze()
  await server.stop()
  await expect(server.freeze()).rejects.toThrow('does not run')
})

test('two instances at once have ports, data and passwords of their own, and leave nothing', async () => {
  const [one, two] = await Promise.all([room.open(), room.open()])
  const ports = [one.databaseUrl, one.redisUrl, two.databaseUrl, two.redisUrl].map(
    (url) => new URL(url).port,
  )
  expect(new Set(ports).size).toBe(4)
  await query(one.databaseUrl, 'CREATE TABLE only_here (n INT)')
  expect(await query(two.databaseUrl, 'SHOW TABLES')).toEqual([])
  await one.close()
  expect(await query(two.databaseUrl, 'SELECT 1 AS n')).toEqual([{ n: 1 }])
  await two.close()
  const left = readdirSync(join(room.root, '.local/services'))
  expect(left.filter((name) => !name.startsWith('template-'))).toEqual([])
  expect(existsSync(join(room.root, '.local/services'))).toBe(true)
})

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const connection = await mysql.createConnection(url)
  try {
    const [rows] = await connection.query(sql)
    return rows as Record<string, unknown>[]
  } finally {
    connection.destroy()
  }
}

function faultable({ mysql, redis }: Services) {
  if (mysql === undefined || redis === undefined) throw new Error('not our own servers')
  return { mysql, redis }
}
