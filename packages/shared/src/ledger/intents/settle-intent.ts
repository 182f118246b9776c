import type { Db } from '../db.ts'
import { changesOne } from '../rows.ts'
import type { IntentError, IntentLease } from './intent.ts'

/**
 * The try had no definite answer: the same key and bytes are sent again after `delayMs`.
 *
 * @returns `false` when the lease is lost: another try is under way.
 */
export const postponeIntent = (
  db: Db,
  lease: IntentLease,
  later: { delayMs: number; error: IntentError },
): Promise<boolean> =>
  changesOne(
    db,
    `UPDATE sume_intents SET lease_token = NULL, leased_until = NULL, last_error = ?, error_code = ?,
            error_request_id = COALESCE(?, error_request_id), due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND
      WHERE idempotency_key = ? AND state = 'pending' AND lease_token = ?`,
    [
      later.error.text,
      cut(later.error.code, 64),
      cut(later.error.requestId, 255),
      later.delayMs,
      lease.key,
      lease.token,
    ],
  )

/** Sume refused the submit for good. @returns `false` when the lease is lost. */
export const refuseIntent = (
  db: Db,
  lease: IntentLease,
  refusal: { state: 'conflict' | 'rejected'; error: IntentError },
): Promise<boolean> =>
  changesOne(
    db,
    `UPDATE sume_intents SET state = ?, lease_token = NULL, leased_until = NULL, last_error = ?, error_code = ?, error_request_id = ?
      WHERE idempotency_key = ? AND state = 'pending' AND lease_token = ?`,
    [
      refusal.state,
      refusal.error.text,
      cut(refusal.error.code, 64),
      cut(refusal.error.requestId, 255),
      lease.key,
      lease.token,
    ],
  )

/**
 * A person has a rejected intent sent again, with the same key and bytes.
 *
 * @returns `false` when it is not `rejected`.
 */
export const retryIntent = (db: Db, key: string): Promise<boolean> =>
  changesOne(
    db,
    `UPDATE sume_intents SET state = 'pending', attempts = 0, lease_token = NULL, leased_until = NULL, due_at = NOW(3)
      WHERE idempotency_key = ? AND state = 'rejected'`,
    [key],
  )

/**
 * Makes submitted and lost intents due, so that Sume is asked about them at the next round. One that was lost gets
 * another chance: it is submitted again, in the sense of the word that its outcome is awaited.
 *
 * @returns `false` when it is neither.
 */
export const hastenIntent = (db: Db, key: string): Promise<boolean> =>
  changesOne(
    db,
    `UPDATE sume_intents SET state = 'submitted', due_at = NOW(3)
      WHERE idempotency_key = ? AND state IN ('submitted', 'lost')`,
    [key],
  )

/** A column that is too short would refuse the whole statement. */
const cut = (text: string | null, most: number): string | null => text?.slice(0, most) ?? null
