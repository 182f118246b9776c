import type { Ledger } from './db.ts'
import { LOST_ERROR, lockUnsettled, recordLostAttempt } from './record-attempt.ts'
import { changesOne } from './rows.ts'

/**
 * Sets an event dead that has no attempt left and that nobody holds: the end of a follow-up which takes
 * its process down every time. To be asked only after a refused claim or a settle that matched nothing.
 *
 * @returns whether this call set it dead.
 */
export const exhaustEvent = (
  ledger: Ledger,
  dedupeKey: string,
  maxAttempts: number,
): Promise<boolean> =>
  ledger.inTransaction(async (tx) => {
    const unsettled = await lockUnsettled(tx, dedupeKey)
    const exhausted = await changesOne(
      tx,
      // Assignments are carried out from left to right: the error is chosen before the token is cleared.
      `UPDATE sume_events SET state = 'dead', last_error = IF(lease_token IS NULL, last_error, ?), lease_token = NULL, leased_until = NULL
        WHERE dedupe_key = ? AND state = 'claimed' AND attempts >= ? AND (leased_until IS NULL OR leased_until <= NOW(3))`,
      [LOST_ERROR, dedupeKey, maxAttempts],
    )
    if (exhausted && unsettled !== null) await recordLostAttempt(tx, unsettled)
    return exhausted
  })
