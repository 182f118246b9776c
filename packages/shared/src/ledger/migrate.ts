import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Connection } from 'mysql2/promise'
import { type MigrationParams, Umzug, type UmzugStorage } from 'umzug'
import { type Db, openConnection } from './db.ts'
import { isNotMigrated, LedgerError } from './errors.ts'
import { affectedRows, rows } from './rows.ts'

const FOLDER = join(import.meta.dirname, 'migrations')
/** How long to wait for another process that is migrating, in seconds. */
const LOCK_SECONDS = 60

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

/** The ledger's migrations in order: plain SQL, one statement a file, each of which may be run again after a half-applied one. */
function readMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((name) => {
      const sql = readFileSync(join(FOLDER, name), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    })
}

/**
 * Brings the database's schema to this version. Any number of processes may call it at once: a named
 * lock on a connection of its own lets one work while the others wait.
 *
 * @returns the names of the migrations that this call applied.
 * @throws LedgerError `TABLE_IN_THE_WAY`, `MIGRATION_CHANGED` or `LOCK_TIMEOUT`, before any change; what
 *   the driver throws. MySQL commits each DDL statement by itself: after a failure, call it again.
 */
export async function migrate(databaseUrl: string, connectTimeoutMs = 4000): Promise<string[]> {
  const connection = await openConnection(databaseUrl, connectTimeoutMs)
  try {
    await withMigrationLock(connection, LOCK_SECONDS)
    await refuseTableInTheWay(connection)
    const applied = await umzugOn(connection).up()
    return applied.map(({ name }) => name)
  } finally {
    // Ending the session releases the lock, also where a statement left the connection unusable.
    await connection.end().catch(() => connection.destroy())
  }
}

/** The migrations that `migrate` would apply. @throws as `migrate` does, without changing anything. */
export async function pendingMigrations(
  databaseUrl: string,
  connectTimeoutMs = 4000,
): Promise<string[]> {
  const connection = await openConnection(databaseUrl, connectTimeoutMs)
  try {
    await refuseTableInTheWay(connection)
    const applied = await appliedMigrations(connection)
    return readMigrations()
      .map(({ name }) => name)
      .filter((name) => !applied.has(name))
  } finally {
    await connection.end().catch(() => connection.destroy())
  }
}

const expected = readMigrations().map(({ name }) => name)

/** Whether every migration of this version is applied. A newer schema is none of an older process's business. */
export async function isMigrated(db: Db): Promise<boolean> {
  try {
    const [row] = await rows<{ applied: number }>(
      db,
      `SELECT COUNT(*) AS applied FROM sume_migrations WHERE name IN (${expected.map(() => '?').join(', ')})`,
      expected,
    )
    return row?.applied === expected.length
  } catch (error) {
    if (isNotMigrated(error)) return false
    throw error
  }
}

async function withMigrationLock(connection: Connection, seconds: number): Promise<void> {
  // Named locks belong to the whole server: two databases on it must not wait for each other. MySQL
  // takes 64 characters at most, and since 9.6 knows no SHA1.
  const [lock] = await rows<{ held: number | null }>(
    connection,
    "SELECT GET_LOCK(CONCAT('sume-inbox:', LEFT(SHA2(DATABASE(), 256), 40)), ?) AS held",
    [seconds],
  )
  if (lock?.held !== 1) {
    throw new LedgerError(
      'LOCK_TIMEOUT',
      `another process has been migrating for ${seconds} s; try again when it is done`,
    )
  }
}

async function refuseTableInTheWay(connection: Connection): Promise<void> {
  const [table] = await rows(
    connection,
    `SELECT 1 FROM information_schema.tables
      WHERE table_schema = DATABASE() AND table_name = 'sume_jobs' AND table_type = 'BASE TABLE'`,
    [],
  )
  if (table === undefined) return
  throw new LedgerError(
    'TABLE_IN_THE_WAY',
    'there is a table sume_jobs where the ledger has a view of that name; nothing was changed. ' +
      'Rename it (RENAME TABLE sume_jobs TO sume_jobs_before), migrate, and take its rows over as docs/upgrading.md says',
  )
}

function umzugOn(connection: Connection) {
  const storage: UmzugStorage = {
    logMigration: async ({ name }: MigrationParams<unknown>) => {
      const migration = readMigrations().find((m) => m.name === name)
      await affectedRows(connection, 'INSERT INTO sume_migrations (name, checksum) VALUES (?, ?)', [
        name,
        migration?.checksum ?? '',
      ])
    },
    unlogMigration: () => Promise.reject(new Error('migrations go forward only')),
    executed: async () => {
      await affectedRows(
        connection,
        `CREATE TABLE IF NOT EXISTS sume_migrations (
           name VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
           checksum CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
           applied_at DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3))
         ) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
        [],
      )
      return [...(await appliedMigrations(connection)).keys()]
    },
  }
  return new Umzug({
    migrations: readMigrations().map(({ name, sql }) => ({
      name,
      up: () => connection.query(sql),
    })),
    storage,
    logger: undefined,
  })
}

/** @throws LedgerError `MIGRATION_CHANGED` when a file is not what was applied under its name. */
async function appliedMigrations(connection: Connection): Promise<Map<string, string>> {
  const applied = new Map<string, string>()
  try {
    for (const row of await rows<{ name: string; checksum: string }>(
      connection,
      'SELECT name, checksum FROM sume_migrations',
      [],
    )) {
      applied.set(row.name, row.checksum)
    }
  } catch (error) {
    if (!isNotMigrated(error)) throw error
  }
  for (const { name, checksum } of readMigrations()) {
    const before = applied.get(name)
    if (before !== undefined && before !== checksum) {
      throw new LedgerError(
        'MIGRATION_CHANGED',
        `migration ${name} was applied with another content; restore that file and add a new migration`,
      )
    }
  }
  return applied
}
