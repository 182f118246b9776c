import { isMigrated, LedgerError, migrate, pendingMigrations } from '@sume-inbox/shared/ledger'
import { openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import mysql from 'mysql2/promise'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { select } from './events.ts'

let db: TestDatabase
beforeEach(async () => {
  db = await openTestDatabase({ migrated: false })
})
afterEach(() => db.drop())

const tables = async () =>
  (
    await select<{ name: string }>(
      db.ledger,
      'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1',
    )
  ).map(({ name }) => name)

const applied = () =>
  select<{ name: string; times: number }>(
    db.ledger,
    'SELECT name, COUNT(*) AS times FROM sume_migrations GROUP BY name ORDER BY name',
  )

test('a fresh database gets every table, and is migrated only then', async () => {
  expect(await isMigrated(db.ledger)).toBe(false)
  const pending = await pendingMigrations(db.url)
  expect(await tables()).toEqual([])
  expect(await migrate(db.url)).toEqual(pending)
  expect(await isMigrated(db.ledger)).toBe(true)
  expect(await pendingMigrations(db.url)).toEqual([])
  for (const table of [
    'sume_events',
    'sume_jobs',
    'sume_attempts',
    'sume_replays',
    'sume_quarantine',
  ])
    expect(await tables()).toContain(table)
})

test('a second run applies nothing and keeps the rows', async () => {
  await migrate(db.url)
  await db.ledger.query(
    "INSERT INTO sume_quarantine (body_sha256, body, reason) VALUES ('x', 'y', 'z')",
  )
  expect(await migrate(db.url)).toEqual([])
  expect(await select(db.ledger, 'SELECT 1 FROM sume_quarantine')).toHaveLength(1)
})

test('five processes at once all succeed, and each migration is applied once', async () => {
  const pending = await pendingMigrations(db.url)
  const runs = await Promise.all(Array.from({ length: 5 }, () => migrate(db.url)))
  expect(runs.flat().sort()).toEqual(pending)
  expect(await applied()).toEqual(pending.map((name) => ({ name, times: 1 })))
})

test('a run goes on after one that died between a table and its record', async () => {
  const names = await migrate(db.url)
  for (const name of names) {
    await db.ledger.query('DELETE FROM sume_migrations WHERE name = ?', [name])
    expect(await isMigrated(db.ledger)).toBe(false)
    expect(await migrate(db.url)).toEqual([name])
    expect(await isMigrated(db.ledger)).toBe(true)
  }
})

test('a table sume_jobs in the way stops everything before any change, and says what to do', async () => {
  await db.ledger.query('CREATE TABLE sume_jobs (job_id VARCHAR(64) PRIMARY KEY)')
  const refused = await migrate(db.url).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(LedgerError)
  expect(refused).toMatchObject({
    code: 'TABLE_IN_THE_WAY',
    message: expect.stringContaining('RENAME TABLE sume_jobs'),
  })
  expect(await tables()).toEqual(['sume_jobs'])
  await expect(pendingMigrations(db.url)).rejects.toMatchObject({ code: 'TABLE_IN_THE_WAY' })
  await db.ledger.query('RENAME TABLE sume_jobs TO sume_jobs_before')
  expect(await migrate(db.url)).not.toEqual([])
})

test('a migration that differs from what was applied under its name is refused', async () => {
  const [first] = await migrate(db.url)
  await db.ledger.query("UPDATE sume_migrations SET checksum = 'another' WHERE name = ?", [first])
  await expect(migrate(db.url)).rejects.toMatchObject({
    code: 'MIGRATION_CHANGED',
    message: expect.stringContaining(first ?? '?'),
  })
})

test('a newer schema is none of an older process’s business', async () => {
  await migrate(db.url)
  await db.ledger.query(
    "INSERT INTO sume_migrations (name, checksum) VALUES ('9999-later.sql', 'x')",
  )
  expect(await isMigrated(db.ledger)).toBe(true)
  expect(await migrate(db.url)).toEqual([])
})

test('two databases on one server do not wait for each other, but two runs on one do', async () => {
  const holder = await mysql.createConnection({ uri: db.url })
  const lock = "CONCAT('sume-inbox:', LEFT(SHA2(?, 256), 40))"
  const hold = `SELECT GET_LOCK(${lock}, 0) AS held, CHAR_LENGTH(${lock}) AS length`
  const name = new URL(db.url).pathname.slice(1)
  const [rows] = await holder.query(hold, [name, name])
  expect(rows).toMatchObject([{ held: 1, length: expect.any(Number) }])
  // MySQL refuses a longer name, MariaDB does not.
  expect((rows as { length: number }[])[0]?.length).toBeLessThanOrEqual(64)

  const other = await openTestDatabase({ migrated: false })
  expect(await migrate(other.url)).not.toEqual([])
  await other.drop()

  let finished = false
  const waiting = migrate(db.url).finally(() => (finished = true))
  const waits =
    "SELECT 1 FROM information_schema.processlist WHERE info LIKE '%GET_LOCK%' AND db = ? AND state LIKE '%lock%'"
  await expect.poll(() => select(db.ledger, waits, [name])).toHaveLength(1)
  expect(finished).toBe(false)
  await holder.query('DO RELEASE_ALL_LOCKS()').catch(() => undefined)
  await holder.end()
  expect(await waiting).not.toEqual([])
})

test('a database that is missing is said so', async () => {
  const url = new URL(db.url)
  url.pathname = '/there_is_no_such_database'
  await expect(migrate(url.href)).rejects.toMatchObject({ errno: 1049 })
})
