import type { Db } from './db.ts'
import { changesOne } from './rows.ts'

/**
 * Holds the event for another `leaseMs` from now.
 *
 * @returns `false` when the token does not hold the event any more: the attempt must stop.
 */
export const renewLease = (
  db: Db,
  dedupeKey: string,
  token: Buffer,
  leaseMs: number,
): Promise<boolean> =>
  changesOne(
    db,
    `UPDATE sume_events SET leased_until = NOW(3) + INTERVAL ? * 1000 MICROSECOND, due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND
      WHERE dedupe_key = ? AND state = 'claimed' AND lease_token = ?`,
    [leaseMs, leaseMs, dedupeKey, token],
  )
