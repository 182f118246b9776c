import type { Db, Ledger } from './db.ts'
import { affectedRows, changesOne, type SqlValue } from './rows.ts'

/** Who had an event run again, and why. */
export interface Reviver {
  /** A person's name or account. */
  readonly by: string
  readonly why: string | null
}

/** One more attempt for a dead event: what Retry in the console means, before the job is retried. */
export const retryEvent = (
  ledger: Ledger,
  dedupeKey: string,
  maxAttempts: number,
  reviver: Reviver,
): Promise<boolean> =>
  revive(
    ledger,
    'retry',
    dedupeKey,
    reviver,
    `UPDATE sume_events SET attempts = ? - 1, state = 'claimed', lease_token = NULL, leased_until = NULL, due_at = NOW(3)
      WHERE dedupe_key = ? AND state = 'dead'`,
    [maxAttempts, dedupeKey],
  )

/** All attempts again for a dead event. @returns `false` when the event is not dead. */
export const replayEvent = (
  ledger: Ledger,
  dedupeKey: string,
  reviver: Reviver,
): Promise<boolean> =>
  revive(
    ledger,
    'replay',
    dedupeKey,
    reviver,
    `UPDATE sume_events SET attempts = 0, snoozes = 0, state = 'claimed', lease_token = NULL, leased_until = NULL, due_at = NOW(3)
      WHERE dedupe_key = ? AND state = 'dead'`,
    [dedupeKey],
  )

/** The follow-up of an event that is done, again: by a person's decision only. @returns `false` when it is not done. */
export const forceReplay = (
  ledger: Ledger,
  dedupeKey: string,
  reviver: Reviver,
): Promise<boolean> =>
  revive(
    ledger,
    'forced',
    dedupeKey,
    reviver,
    `UPDATE sume_events SET attempts = 0, snoozes = 0, done_at = NULL, state = 'claimed', lease_token = NULL, leased_until = NULL, due_at = NOW(3)
      WHERE dedupe_key = ? AND state = 'done'`,
    [dedupeKey],
  )

const revive = (
  ledger: Ledger,
  what: 'retry' | 'replay' | 'forced',
  dedupeKey: string,
  reviver: Reviver,
  sql: string,
  values: SqlValue[],
): Promise<boolean> =>
  ledger.inTransaction(async (tx) => {
    if (!(await changesOne(tx, sql, values))) return false
    await recordReplay(tx, what, dedupeKey, reviver)
    return true
  })

async function recordReplay(
  tx: Db,
  what: string,
  dedupeKey: string,
  { by, why }: Reviver,
): Promise<void> {
  await affectedRows(
    tx,
    'INSERT INTO sume_replays (dedupe_key, what, replayed_by, why) VALUES (?, ?, ?, ?)',
    [dedupeKey, what, by, why],
  )
}
