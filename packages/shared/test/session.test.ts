import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { isUnavailable, type Ledger, openLedger } from '@sume-inbox/shared/ledger'
import { openTcpProxy, openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import mysql from 'mysql2/promise'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { claim, deliverTo, eventRow, jobEnvelope, newEvent, select } from './events.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await openTestDatabase()
  await db.ledger.query('CREATE TABLE scratch (id INT PRIMARY KEY, word VARCHAR(3))')
})
afterAll(() => db.drop())

function open(options: { url?: string; poolSize?: number; timeoutMs?: number } = {}): Ledger {
  const { url = db.url, poolSize = 2, timeoutMs = 2000 } = options
  const ledger = openLedger({ url, poolSize, timeoutMs })
  onTestFinished(() => ledger.close())
  return ledger
}

/** A connection of its own that locks the row until the test is over. */
async function lockRow(key: string) {
  const holder = await mysql.createConnection({ uri: db.url })
  onTestFinished(() => holder.destroy())
  await holder.query('START TRANSACTION')
  await holder.query('SELECT 1 FROM sume_events WHERE dedupe_key = ? FOR UPDATE', [key])
  return holder
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error('it should have failed')
    },
    (error: unknown) => error,
  )

const SESSION = `SELECT CONNECTION_ID() AS id, @@session.sql_mode AS mode, @@session.time_zone AS zone,
  @@session.transaction_isolation AS isolation, @@session.innodb_lock_wait_timeout AS lockWait,
  @@session.wait_timeout AS idle, @@session.character_set_client AS charset`

const expected = {
  mode: 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY',
  zone: '+00:00',
  isolation: 'READ-COMMITTED',
  lockWait: 3,
  idle: 45,
  charset: 'utf8mb4',
}

interface Session {
  readonly id: number
  readonly mode: string
}

/** MySQL and MariaDB give the modes in orders of their own; MariaDB before 11 has another name for the isolation. */
async function sessionOf(db: Pick<Ledger, 'query' | 'execute'>): Promise<Session> {
  const read = (name: string) => select<Session>(db, SESSION.replace('transaction_isolation', name))
  const [session] = await read('transaction_isolation').catch(() => read('tx_isolation'))
  if (session === undefined) throw new Error('no session')
  return { ...session, mode: session.mode.split(',').sort().join(',') }
}
const wanted = { ...expected, mode: expected.mode.split(',').sort().join(',') }

test('every pooled connection has the session that the ledger depends on, also when it is used again', async () => {
  const ledger = open({ poolSize: 4 })
  const ids = new Set<number>()
  for (let round = 0; round < 3; round++) {
    const sessions = await Promise.all(
      Array.from({ length: 4 }, () =>
        ledger.inTransaction(async (tx) => {
          await tx.query('SELECT SLEEP(0.05)')
          return sessionOf(tx)
        }),
      ),
    )
    for (const session of sessions) {
      expect(session).toMatchObject(wanted)
      ids.add(session.id)
    }
  }
  expect(ids.size).toBe(4)
})

test('a connection that takes the place of a lost one has the same session', async () => {
  const ledger = open({ poolSize: 1 })
  const before = await sessionOf(ledger)
  await db.ledger.query(`KILL ${before.id}`)
  // The statement that meets the dead connection may fail; the next one must not.
  await ledger.query('SELECT 1').catch(() => undefined)
  const after = await sessionOf(ledger)
  expect(after.id).not.toBe(before.id)
  expect(after).toMatchObject(wanted)
})

test('an UPDATE that changes nothing affects no row', async () => {
  const ledger = open()
  await ledger.query("REPLACE INTO scratch VALUES (1, 'a')")
  const [result] = await ledger.query("UPDATE scratch SET word = 'a' WHERE id = 1")
  expect(result).toMatchObject({ affectedRows: 0 })
})

test('a value that does not fit is an error, never cut short', async () => {
  await expect(open().query("INSERT INTO scratch VALUES (2, 'long')")).rejects.toMatchObject({
    errno: 1406,
  })
})

test('statements that take too long are given up, and the pool stays as large as it was', async () => {
  const ledger = open({ poolSize: 2, timeoutMs: 300 })
  for (let i = 0; i < 8; i++) {
    const start = performance.now()
    expect(await failure(ledger.query('SELECT SLEEP(3)'))).toMatchObject({ code: 'DEADLINE' })
    expect(performance.now() - start).toBeLessThan(600)
  }
  const both = await Promise.all([
    ledger.query('SELECT CONNECTION_ID(), SLEEP(0.1)'),
    ledger.query('SELECT CONNECTION_ID(), SLEEP(0.1)'),
  ])
  expect(both).toHaveLength(2)
})

test('a delivery for a locked row is given up in time, and goes through afterwards', async () => {
  const ledger = open({ timeoutMs: 300 })
  const envelope = jobEnvelope()
  await deliverTo(ledger, envelope)
  const holder = await lockRow(envelope.dedupeKey)
  const error = await failure(deliverTo(ledger, envelope))
  expect(error).toMatchObject({ code: 'DEADLINE' })
  expect(isUnavailable(error)).toBe(true)
  await holder.query('ROLLBACK')
  expect(await deliverTo(ledger, envelope)).toBe('duplicate')
})

test('waiting for a connection counts: with the pool in use, a statement fails in time', async () => {
  const ledger = open({ poolSize: 1, timeoutMs: 400 })
  const taken = Promise.withResolvers<void>()
  const given = Promise.withResolvers<void>()
  const busy = ledger.inTransaction(() => {
    taken.resolve()
    return given.promise
  })
  await taken.promise
  const start = performance.now()
  const errors = await Promise.all(
    Array.from({ length: 20 }, () => failure(ledger.query('SELECT 1'))),
  )
  expect(performance.now() - start).toBeLessThan(700)
  for (const error of errors) expect(isUnavailable(error)).toBe(true)
  given.resolve()
  await busy
  // The connections that were asked for in vain came late and were given back.
  expect(await select(ledger, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
})

test('a transaction whose work throws is rolled back, and its connection is usable', async () => {
  const ledger = open({ poolSize: 1 })
  const work = ledger.inTransaction(async (tx) => {
    await tx.query("INSERT INTO scratch VALUES (10, 'a')")
    throw new Error('not today')
  })
  await expect(work).rejects.toThrow('not today')
  await ledger.query("INSERT INTO scratch VALUES (11, 'b')")
  // Seen from another session: with an open transaction left behind, the second row would not be there.
  expect(await select(db.ledger, 'SELECT id FROM scratch WHERE id >= 10')).toEqual([{ id: 11 }])
})

test('a transaction with a statement that takes too long leaves nothing behind', async () => {
  const ledger = open({ poolSize: 1, timeoutMs: 300 })
  const work = ledger.inTransaction(async (tx) => {
    await tx.query("INSERT INTO scratch VALUES (20, 'a')")
    await tx.query('SELECT SLEEP(3)')
  })
  await expect(work).rejects.toMatchObject({ code: 'DEADLINE' })
  await ledger.query("INSERT INTO scratch VALUES (21, 'b')")
  expect(await select(db.ledger, 'SELECT id FROM scratch WHERE id >= 20')).toEqual([{ id: 21 }])
})

test('a server that answers nothing any more costs each statement its deadline, and is used again when it is back', async () => {
  const proxy = await openTcpProxy(db.url)
  onTestFinished(() => proxy.close())
  const ledger = open({ url: proxy.url, timeoutMs: 300 })
  await ledger.query('SELECT 1')
  proxy.swallowAnswers()
  for (let i = 0; i < 3; i++)
    expect(isUnavailable(await failure(ledger.query('SELECT 1')))).toBe(true)
  proxy.mend()
  await expect.poll(() => select(ledger, 'SELECT 1 AS one').catch(String)).toEqual([{ one: 1 }])
})

test('close ends within about a second and leaves no socket, although a statement is under way', async () => {
  const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap')
  const before = sockets().length
  const ledger = openLedger({ url: db.url, poolSize: 2, timeoutMs: 10_000 })
  const slow = failure(ledger.query('SELECT SLEEP(5)'))
  const running = "SELECT 1 FROM information_schema.processlist WHERE info = 'SELECT SLEEP(5)'"
  await expect.poll(() => select(db.ledger, running)).not.toEqual([])
  const start = performance.now()
  await ledger.close()
  expect(performance.now() - start).toBeLessThan(1500)
  // An open socket would keep the process from ending.
  await expect.poll(() => sockets().length).toBeLessThanOrEqual(before)
  void slow
})

test('rule 12: the server ends a transaction whose client went silent, and its row is free', async () => {
  const key = await newEvent(db.ledger)
  const silent = await mysql.createConnection({ uri: db.url })
  silent.on('error', () => undefined)
  await silent.query('SET SESSION wait_timeout = 1')
  await silent.query('START TRANSACTION')
  await silent.query('UPDATE sume_events SET attempts = attempts + 1 WHERE dedupe_key = ?', [key])
  expect((await claim(db.ledger, key)).claimed).toBe(true)
  expect(await eventRow(db.ledger, key)).toMatchObject({ attempts: 1 })
  silent.destroy()
})

test('rule 12: … broken without the time limit: its row stays locked', async () => {
  const key = await newEvent(db.ledger)
  await lockRow(key)
  const error = await failure(claim(db.ledger, key))
  expect(error).toMatchObject({ errno: 1205 })
  expect(isUnavailable(error)).toBe(true)
})

test.each<[string, () => Promise<unknown>, boolean]>([
  [
    'a refused connection',
    async () => open({ url: await nobodyListens() }).query('SELECT 1'),
    true,
  ],
  ['an unknown database', () => open({ url: `${db.url}_not` }).query('SELECT 1'), true],
  [
    'a wrong password',
    () => open({ url: db.url.replace(/:[^:@]*@/, ':wrong@') }).query('SELECT 1'),
    true,
  ],
  ['a table that is not there yet', () => db.ledger.query('SELECT 1 FROM not_there'), true],
  ['a column that is not there yet', () => db.ledger.query('SELECT nothing FROM scratch'), true],
  ['a killed connection', () => open().query('KILL CONNECTION_ID()'), true],
  [
    'a value that does not fit',
    () => db.ledger.query("INSERT INTO scratch VALUES (30, 'long')"),
    false,
  ],
  [
    'a broken constraint',
    () => deliverTo(db.ledger, { ...jobEnvelope(), status: 'x' as 'OK' }),
    false,
  ],
  ['a syntax error', () => db.ledger.query('SELEC 1'), false],
  ['a duplicate key', () => db.ledger.query('INSERT INTO scratch (id) VALUES (40), (40)'), false],
  ['a bug of our own', () => Promise.reject(new TypeError('x is undefined')), false],
])(
  '%s is told from the rest: may the same call succeed later?',
  async (_what, call, unavailable) => {
    expect(isUnavailable(await failure(call()))).toBe(unavailable)
  },
)

/** An address on which nothing listens. */
async function nobodyListens(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `mysql://root@127.0.0.1:${port}/x`
}
