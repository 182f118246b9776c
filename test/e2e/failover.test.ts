import { openServices, type Services } from '@sume-inbox/services'
import { type Ledger, migrate, openLedger } from '@sume-inbox/shared/ledger'
import { deliver, jobBody, openTcpProxy, waitFor } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSystem } from './system.ts'

const DATABASE = 'sume_inbox_failover'
const APP = { user: 'sume_app', password: 'test_only_of_the_failover' }
const TABLES = ['sume_events', 'sume_attempts', 'sume_replays', 'sume_quarantine', 'sume_intents']

let old: Services
let next: Services
beforeAll(async () => {
  old = await openServices({ private: true })
  next = await openServices({ private: true })
})
afterAll(() => Promise.all([old.close(), next.close()]))

/** A database that the applications' account has all rights on, and no right beyond it: `read_only` binds it. */
async function prepare(services: Services): Promise<{ admin: Ledger; url: string }> {
  const server = openLedger({ url: services.databaseUrl, poolSize: 1, timeoutMs: 10_000 })
  await server.query(`CREATE DATABASE ${DATABASE}`)
  await server.query(`CREATE USER ${APP.user}@'%' IDENTIFIED BY '${APP.password}'`)
  await server.query(`GRANT ALL ON ${DATABASE}.* TO ${APP.user}@'%'`)
  await server.close()
  const url = new URL(services.databaseUrl)
  url.pathname = `/${DATABASE}`
  await migrate(url.href)
  const admin = openLedger({ url: url.href, poolSize: 1, timeoutMs: 10_000 })
  url.username = APP.user
  url.password = APP.password
  return { admin, url: url.href }
}

/** As a replica that has every commit: all rows, without the columns that are computed. */
async function copy(from: Ledger, to: Ledger): Promise<void> {
  for (const table of TABLES) {
    const [columns] = await from.query(
      `SELECT column_name AS name FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = ? AND COALESCE(generation_expression, '') = ''`,
      [table],
    )
    const names = (columns as unknown as { name: string }[]).map(({ name }) => name).join(', ')
    const [rows] = await from.query({ sql: `SELECT ${names} FROM ${table}`, rowsAsArray: true })
    const values = rows as unknown as unknown[][]
    if (values.length > 0) await to.query(`INSERT INTO ${table} (${names}) VALUES ?`, [values])
  }
}

test('failover: read-only means 503, and when the address moves the same processes go on with the new primary', async () => {
  const from = await prepare(old)
  const to = await prepare(next)
  const address = await openTcpProxy(from.url)
  const ledger = openLedger({ url: to.url, poolSize: 2, timeoutMs: 4000 })
  const database = { url: address.url, ledger, drop: () => ledger.close() }
  await using system = await openSystem(
    { database, redisUrl: next.redisUrl },
    { ENQUEUE_GRACE_MS: '1000', SWEEP_EVERY_MS: '500', MAX_ATTEMPTS: '1000', BACKOFF_MS: '500' },
  )
  const receiver = await system.start('receiver')
  const worker = await system.start('worker')
  const sent = async (event: string) => {
    const { jobId, body } = jobBody({ event })
    expect((await deliver(receiver.url, body)).answer).toEqual({ receipt: 'accepted' })
    return jobId
  }
  const done = await sent('job.completed')
  await waitFor('a first follow-up', () => system.runs(done).length === 1)
  const open = [await sent('job.held'), await sent('job.held')]
  await waitFor('attempts', () => open.every((id) => system.runs(id).length > 0))

  await from.admin.query('SET GLOBAL read_only = ON')
  const refused = jobBody()
  expect((await deliver(receiver.url, refused.body)).status).toBe(503)
  await copy(from.admin, to.admin)
  address.retarget(to.url)
  await from.admin.close()
  await old.mysql?.kill()

  await waitFor(
    'a delivery to be accepted by the new primary',
    async () => (await deliver(receiver.url, refused.body)).status === 200,
  )
  system.mend()
  for (const id of [...open, refused.jobId]) await system.reached(id, 'done', 60_000)
  expect(system.runs(done)).toHaveLength(1)
  expect(await system.reached(done, 'done')).toMatchObject({ deliveries: 1 })
  expect(await receiver.stop()).toBe(0)
  expect(await worker.stop()).toBe(0)
  await to.admin.close()
  await address.close()
})
