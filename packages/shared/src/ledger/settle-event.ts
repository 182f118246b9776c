import type { Db, Ledger } from './db.ts'
import { LedgerError } from './errors.ts'
import { recordAttempt } from './record-attempt.ts'
import { changesOne, type SqlValue } from './rows.ts'

/** The lease that a settle ends. Every settle names its token and clears it, so it can match only once. */
export interface Lease {
  readonly dedupeKey: string
  readonly token: Buffer
  /** The number of the attempt, for its story. */
  readonly attempt: number
}

/** The follow-up has done its work. @returns `false` when the lease is lost. */
export const settleDone = (db: Db, lease: Lease): Promise<boolean> =>
  changesOne(
    db,
    `UPDATE sume_events SET state = 'done', done_at = NOW(3), lease_token = NULL, leased_until = NULL
      WHERE dedupe_key = ? AND state = 'claimed' AND lease_token = ?`,
    [lease.dedupeKey, lease.token],
  )

/**
 * `done` together with the follow-up's own writes: both commit, or neither. The settle goes first, so
 * that its row lock keeps every other attempt out until the writes are in.
 *
 * @throws LedgerError `LEASE_LOST` before `work` is called; whatever `work` throws, after a rollback.
 */
export const settleDoneWith = <T>(
  ledger: Ledger,
  lease: Lease,
  work: (tx: Db) => Promise<T>,
): Promise<T> =>
  ledger.inTransaction(async (tx) => {
    if (!(await settleDone(tx, lease))) {
      throw new LedgerError(
        'LEASE_LOST',
        `the lease on ${lease.dedupeKey} is lost; nothing was written`,
      )
    }
    return work(tx)
  })

/**
 * The attempt failed and another one follows: the sweeper steps in when none has come after
 * `backoffMs + graceMs`.
 *
 * @returns `false` when the lease is lost.
 */
export const settleRetry = (
  ledger: Ledger,
  lease: Lease,
  retry: { error: string; backoffMs: number; graceMs: number },
): Promise<boolean> =>
  settleUnfinished(
    ledger,
    lease,
    { outcome: 'retry', error: retry.error },
    `UPDATE sume_events SET lease_token = NULL, leased_until = NULL, last_error = ?, due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND
      WHERE dedupe_key = ? AND state = 'claimed' AND lease_token = ?`,
    [retry.error, retry.backoffMs + retry.graceMs, lease.dedupeKey, lease.token],
  )

/** The event is given up: its last attempt failed, or its follow-up said so. @returns `false` when the lease is lost. */
export const settleDead = (ledger: Ledger, lease: Lease, error: string): Promise<boolean> =>
  settleUnfinished(
    ledger,
    lease,
    { outcome: 'dead', error },
    `UPDATE sume_events SET state = 'dead', last_error = ?, lease_token = NULL, leased_until = NULL
      WHERE dedupe_key = ? AND state = 'claimed' AND lease_token = ?`,
    [error, lease.dedupeKey, lease.token],
  )

/**
 * Not now: gives the attempt back, `maxSnoozes` times at most.
 *
 * @returns `false` when the lease is lost or no snooze is left.
 */
export const settleSnooze = (
  ledger: Ledger,
  lease: Lease,
  snooze: { ms: number; graceMs: number; maxSnoozes: number },
): Promise<boolean> =>
  settleUnfinished(
    ledger,
    lease,
    { outcome: 'snooze', error: null },
    `UPDATE sume_events SET attempts = attempts - 1, snoozes = snoozes + 1, lease_token = NULL, leased_until = NULL,
            due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND
      WHERE dedupe_key = ? AND state = 'claimed' AND lease_token = ? AND snoozes < ?`,
    [snooze.ms + snooze.graceMs, lease.dedupeKey, lease.token, snooze.maxSnoozes],
  )

/** A guarded UPDATE and the attempt's place in the story, in one transaction. */
const settleUnfinished = (
  ledger: Ledger,
  lease: Lease,
  story: { outcome: 'retry' | 'dead' | 'snooze'; error: string | null },
  sql: string,
  values: SqlValue[],
): Promise<boolean> =>
  ledger.inTransaction(async (tx) => {
    if (!(await changesOne(tx, sql, values))) return false
    await recordAttempt(tx, { dedupeKey: lease.dedupeKey, attempt: lease.attempt, ...story })
    return true
  })
