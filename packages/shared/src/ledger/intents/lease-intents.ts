import type { ResultSetHeader } from 'mysql2/promise'
import type { Ledger } from '../db.ts'
import { rows } from '../rows.ts'
import type { LeasedIntent } from './intent.ts'

/**
 * Takes up to `limit` pending intents whose time has come, oldest first, for one try each. What another
 * submitter holds is skipped; a lease that ran out was a submitter that died, and its try is repeated with the same key.
 *
 * @param token 16 random bytes, never used twice: the fence of what is said about these tries.
 */
export const leasePending = (
  ledger: Ledger,
  lease: { token: Buffer; leaseMs: number; limit: number },
): Promise<LeasedIntent[]> =>
  ledger.inTransaction(async (tx) => {
    const due = await rows<LeasedIntent>(
      tx,
      // With the index of the order, only what is taken is read and locked; the optimizer of a small table would sort it all.
      `SELECT idempotency_key, path, body, kind, attempts + 1 AS attempts FROM sume_intents FORCE INDEX (by_due)
        WHERE state = 'pending' AND due_at <= NOW(3) AND (leased_until IS NULL OR leased_until <= NOW(3))
        ORDER BY due_at LIMIT ? FOR UPDATE SKIP LOCKED`,
      [String(lease.limit)],
    )
    if (due.length > 0) {
      await tx.query<ResultSetHeader>(
        `UPDATE sume_intents SET attempts = attempts + 1, lease_token = ?, leased_until = NOW(3) + INTERVAL ? * 1000 MICROSECOND,
                due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND WHERE idempotency_key IN (?)`,
        [
          lease.token,
          lease.leaseMs,
          lease.leaseMs,
          due.map(({ idempotency_key }) => idempotency_key),
        ],
      )
    }
    return due
  })
