import {
  inspectServer,
  isMigrated,
  type Ledger,
  LedgerError,
  pendingMigrations,
} from '@sume-inbox/shared/ledger'
import type { Env } from '@sume-inbox/shared/runtime'
import { databaseTrouble } from '../explain.ts'
import { withLedger } from '../with-ledger.ts'
import { type Finding, fail, ok } from './finding.ts'
import { judgeDatabase, judgeSkew } from './judge-database.ts'

interface DatabaseSettings {
  readonly DATABASE_URL: string
  readonly DATABASE_TIMEOUT_MS: number
  readonly BODY_LIMIT_BYTES: number
  readonly SUME_WEBHOOK_TOLERANCE_SECONDS: number
}

/** Asks MySQL everything that the ledger depends on. */
export async function checkDatabase(
  settings: DatabaseSettings,
  env: Env,
  now: () => number,
): Promise<Finding[]> {
  try {
    return await withLedger(settings, async (ledger) => {
      // Once before, so that connecting does not count as skew.
      await inspectServer(ledger)
      const before = now()
      const server = await inspectServer(ledger)
      const skewMs = server.nowMs - (before + now()) / 2
      return [
        ok('MySQL answers'),
        ...judgeDatabase(server, settings.BODY_LIMIT_BYTES),
        judgeSkew(skewMs, settings.SUME_WEBHOOK_TOLERANCE_SECONDS),
        await checkMigrations(ledger, settings),
      ]
    })
  } catch (error) {
    const [what = '', fix = 'see its log'] = databaseTrouble(error, env).split('; ', 2)
    return [fail(what, fix)]
  }
}

async function checkMigrations(ledger: Ledger, settings: DatabaseSettings): Promise<Finding> {
  try {
    if (await isMigrated(ledger)) {
      // Also says whether a migration was changed after it was applied.
      await pendingMigrations(settings.DATABASE_URL, settings.DATABASE_TIMEOUT_MS)
      return ok('the database is migrated')
    }
    const pending = await pendingMigrations(settings.DATABASE_URL, settings.DATABASE_TIMEOUT_MS)
    return fail(`${pending.length} migrations are missing`, 'run: sume migrate')
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error
    const [what = '', ...fix] = error.message.split('; ')
    return fail(what, fix.join('; '))
  }
}
