import { randomBytes } from 'node:crypto'
import { type Ledger, migrate, openLedger } from '@sume-inbox/shared/ledger'
import mysql from 'mysql2/promise'
import { servers } from './servers.ts'

/** A database of a test's own. */
export interface TestDatabase {
  readonly url: string
  readonly ledger: Ledger
  /** Drops it. A failed test that skips this leaves its database to look at, until the servers end. */
  drop(): Promise<void>
}

/** Makes a new database on the shared server (or on another one) and, unless told otherwise, migrates it. */
export async function openTestDatabase(
  options: { serverUrl?: string; migrated?: boolean; poolSize?: number; timeoutMs?: number } = {},
): Promise<TestDatabase> {
  const url = new URL(options.serverUrl ?? servers().databaseUrl)
  const name = `t_${randomBytes(6).toString('hex')}`
  const admin = await mysql.createConnection({ uri: url.href })
  await admin.query(`CREATE DATABASE ${name}`)
  await admin.end()
  url.pathname = `/${name}`
  if (options.migrated !== false) await migrate(url.href)
  const ledger = openLedger({
    url: url.href,
    poolSize: options.poolSize ?? 8,
    timeoutMs: options.timeoutMs ?? 4000,
  })
  return {
    url: url.href,
    ledger,
    async drop() {
      await ledger.query(`DROP DATABASE ${name}`)
      await ledger.close()
    },
  }
}

/** A queue prefix that no other test uses. */
export const testPrefix = (): string => `{t${randomBytes(6).toString('hex')}}`
