import { Redis } from 'ioredis'
import mysql from 'mysql2/promise'

/** Asks MySQL once. @throws the driver's error, which names no password. */
export async function mysqlAnswers(url: string, timeoutMs: number): Promise<void> {
  const connection = await mysql.createConnection({ uri: url, connectTimeout: timeoutMs })
  try {
    await connection.query({ sql: 'SELECT 1', timeout: timeoutMs })
  } finally {
    connection.destroy()
  }
}

/** Asks Redis once for its PONG; one that still loads its data says LOADING instead. */
export async function redisAnswers(url: string, timeoutMs: number): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let failure: Error | undefined
  redis.on('error', (error: Error) => {
    failure = error
  })
  try {
    await redis.connect()
    await redis.ping()
  } catch (error) {
    // The promise says only that the connection is closed, the event says why.
    throw failure ?? error
  } finally {
    redis.disconnect()
  }
}
