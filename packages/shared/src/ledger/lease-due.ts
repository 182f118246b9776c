import type { ResultSetHeader } from 'mysql2/promise'
import type { Ledger } from './db.ts'
import { rows } from './rows.ts'

/** An event whose time has passed. */
export interface DueEvent {
  readonly dedupe_key: string
  readonly status: 'OK' | 'ERROR'
}

/**
 * Takes up to `limit` claimed events whose `due_at` has passed, ERROR first, and moves their `due_at`
 * ahead by `intervalMs`, so that every sweeper gets others. A valid lease is left alone: the claim
 * decides. The transaction is short and READ COMMITTED, so it holds up no insert.
 */
export const leaseDue = (ledger: Ledger, limit: number, intervalMs: number): Promise<DueEvent[]> =>
  ledger.inTransaction(async (tx) => {
    const due = await rows<DueEvent>(
      tx,
      // Without `urgent IN (0, 1)` every claimed row is read, and on MariaDB locked.
      `SELECT dedupe_key, status FROM sume_events
        WHERE state = 'claimed' AND urgent IN (0, 1) AND due_at <= NOW(3)
        ORDER BY urgent DESC, due_at LIMIT ? FOR UPDATE SKIP LOCKED`,
      [String(limit)],
    )
    if (due.length > 0) {
      // `query`, because the list's length varies and every length would be a prepared statement of its own.
      await tx.query<ResultSetHeader>(
        'UPDATE sume_events SET due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND WHERE dedupe_key IN (?)',
        [intervalMs, due.map((event) => event.dedupe_key)],
      )
    }
    return due
  })
