import { isMigrated } from '@sume-inbox/shared/ledger'
import { openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sume } from './sume.ts'

let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase({ migrated: false })
})
afterEach(() => database.drop())

const migrate = (...args: string[]) => sume(['migrate', ...args], { DATABASE_URL: database.url })

test('a new database is migrated once; the second time there is nothing to do', async () => {
  const first = await migrate()
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout).toContain('applied 0001-events.sql\n')
  expect(await isMigrated(database.ledger)).toBe(true)
  expect(await migrate()).toEqual({ code: 0, stdout: 'already up to date\n', stderr: '' })
})

test('--dry-run names what is missing and changes nothing', async () => {
  const dry = await migrate('--dry-run')
  expect(dry.code).toBe(0)
  const [tables] = await database.ledger.query('SHOW TABLES')
  expect(tables).toEqual([])
  const wet = await migrate()
  expect(wet.stdout).toBe(dry.stdout.replaceAll('pending', 'applied'))
  expect((await migrate('--dry-run')).stdout).toBe('already up to date\n')
})

test('a table in the way exits 1, says what to do, and stays as it is', async () => {
  await database.ledger.query('CREATE TABLE sume_jobs (job_id VARCHAR(64) PRIMARY KEY)')
  const ran = await migrate()
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain('RENAME TABLE sume_jobs TO')
  expect(ran.stderr).not.toMatch(/\n\s+at /)
  const [tables] = await database.ledger.query('SHOW TABLES')
  expect(tables).toHaveLength(1)
})

test('a database that is not there is told as such', async () => {
  const ran = await sume(['migrate'], { DATABASE_URL: `${database.url}_not_there` })
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain('has no database of that name')
})

test('a wrong password is told as such, and not shown', async () => {
  const url = new URL(database.url)
  url.username = 'nobody'
  url.password = 'hush-hush'
  const ran = await sume(['migrate'], { DATABASE_URL: url.href })
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain('refuses this user')
  expect(ran.stderr).not.toContain('hush-hush')
})
