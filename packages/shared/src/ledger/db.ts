import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import mysql, { type Connection, type PoolConnection } from 'mysql2/promise'
import { withDeadline } from '../runtime/index.ts'

/**
 * What every statement needs: mysql2's `execute` and `query`. A pool, a transaction and a caller's own
 * connection all are one, so each statement can run inside the caller's transaction.
 */
export type Db = Pick<Connection, 'execute' | 'query'>

/** The ledger's database: every statement on its own connection, or several in one transaction. */
export interface Ledger extends Db {
  /**
   * Runs `work` in one transaction: committed when it returns, rolled back when it throws.
   *
   * @throws whatever `work` throws, or what the server or a deadline made of a statement. After a
   *   failed COMMIT nobody knows whether it was carried out.
   */
  inTransaction<T>(work: (tx: Db) => Promise<T>): Promise<T>
  /** Ends all connections, waiting at most a second for statements under way. */
  close(): Promise<void>
}

export interface LedgerOptions {
  /** `mysql://user:password@host:port/database` */
  readonly url: string
  readonly poolSize: number
  /** The longest that one statement may take, waiting for a connection included, in milliseconds. */
  readonly timeoutMs: number
  readonly onError?: (error: Error) => void
}

/** The server ends a session that has sent nothing for so long: a frozen worker's transaction must not lock its row for ever. */
const SESSION_WAIT_SECONDS = 45
/** Below the server's patience, so that we are the ones who close an idle connection. */
const IDLE_MS = 30_000
/** Waiting callers beyond this are refused at once instead of piling up while the database is away. */
const MAX_WAITING = 2000

const SESSION = `SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY',
 time_zone = '+00:00', innodb_lock_wait_timeout = 3, wait_timeout = ${SESSION_WAIT_SECONDS}`
const ISOLATION = 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'

/**
 * The driver's options that the ledger depends on.
 * `-FOUND_ROWS`: affected rows 1 means inserted or changed, and nothing else.
 */
const driverOptions = (url: string, timeoutMs: number): mysql.PoolOptions => ({
  uri: url,
  flags: ['-FOUND_ROWS'],
  timezone: 'Z',
  charset: 'utf8mb4_bin',
  jsonStrings: true,
  supportBigNumbers: true,
  multipleStatements: false,
  connectTimeout: timeoutMs,
  maxPreparedStatements: 100,
  enableKeepAlive: true,
  keepAliveInitialDelay: 10_000,
})

/** Opens the pool. Nothing is connected yet: a database that is away costs the first statement, not the start. */
export function openLedger(options: LedgerOptions): Ledger {
  const { timeoutMs } = options
  const pool = mysql.createPool({
    ...driverOptions(options.url, timeoutMs),
    connectionLimit: options.poolSize,
    maxIdle: Math.max(options.poolSize - 1, 1),
    idleTimeout: IDLE_MS,
    queueLimit: MAX_WAITING,
    // A reset would also throw away the session's settings; `inTransaction` never gives back an open transaction.
    resetOnRelease: false,
  })
  const sockets = new Set<Socket>()
  pool.pool.on('connection', (connection) => {
    const socket = socketOf(connection)
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    // The pool listens for the first error only; a second one without a listener ends the process.
    connection.on('error', (error: Error) => options.onError?.(error))
    // Queued before the first statement. A session without these settings could cut an id short, so it does not live.
    for (const sql of [SESSION, ISOLATION]) {
      connection.query(sql, (error: Error | null) => {
        if (error === null) return
        connection.destroy()
        options.onError?.(error)
      })
    }
  })

  const acquire = async (): Promise<PoolConnection> => {
    const wanted = pool.getConnection()
    return withDeadline(wanted, timeoutMs, 'waiting for a database connection', () => {
      // It may still come: give it back, or the pool shrinks with every deadline.
      wanted.then((connection) => connection.release()).catch(() => undefined)
    })
  }

  const onOneConnection = async <T>(
    run: (connection: PoolConnection, leftMs: number) => Promise<T>,
  ) => {
    const start = performance.now()
    const connection = await acquire()
    try {
      return await run(connection, Math.max(timeoutMs - (performance.now() - start), 1))
    } finally {
      connection.release()
    }
  }

  const ledger = {
    execute: (...args: Parameters<Connection['execute']>) =>
      onOneConnection((connection, ms) => limited(connection, ms).execute(...args)),
    query: (...args: Parameters<Connection['query']>) =>
      onOneConnection((connection, ms) => limited(connection, ms).query(...args)),
    inTransaction: async <T>(work: (tx: Db) => Promise<T>): Promise<T> => {
      const connection = await acquire()
      return transaction(connection, timeoutMs, work)
    },
    close: async () => {
      await Promise.race([
        pool.end().catch(() => undefined),
        sleep(1000, undefined, { ref: false }),
      ])
      // What is still busy would keep the process from ending.
      for (const socket of sockets) socket.destroy()
    },
  }
  return ledger as Ledger
}

async function transaction<T>(
  connection: PoolConnection,
  timeoutMs: number,
  work: (tx: Db) => Promise<T>,
) {
  const tx = limited(connection, timeoutMs)
  try {
    await tx.query('START TRANSACTION')
    const result = await work(tx)
    await tx.query('COMMIT')
    connection.release()
    return result
  } catch (error) {
    // A connection with an open transaction would swallow the next caller's statements: roll back, or drop it.
    await tx.query('ROLLBACK').then(
      () => connection.release(),
      () => drop(connection),
    )
    throw error
  }
}

/** Takes a connection out of the pool and closes it. The driver's `destroy` waits for the server to close too: a frozen one never does. */
function drop(connection: PoolConnection): void {
  connection.destroy()
  socketOf(connection.connection).destroy()
}

const socketOf = (connection: unknown): Socket => (connection as { stream: Socket }).stream

/**
 * The connection with a deadline on each statement. The driver has none that frees the connection:
 * the statement may still be carried out, so its outcome is unknown and the connection is dropped.
 */
function limited(connection: PoolConnection, ms: number): Db {
  const late = () => drop(connection)
  return {
    execute: (...args: Parameters<Connection['execute']>) =>
      withDeadline(connection.execute(...args), ms, 'a database statement', late),
    query: (...args: Parameters<Connection['query']>) =>
      withDeadline(connection.query(...args), ms, 'a database statement', late),
  } as Db
}

/** One connection of its own with the ledger's session, for work that a pool must not spread, such as a named lock. */
export async function openConnection(url: string, connectTimeoutMs: number): Promise<Connection> {
  const connection = await mysql.createConnection(driverOptions(url, connectTimeoutMs))
  try {
    await connection.query(SESSION)
    await connection.query(ISOLATION)
    return connection
  } catch (error) {
    connection.destroy()
    throw error
  }
}
