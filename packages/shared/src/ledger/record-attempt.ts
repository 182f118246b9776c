import type { Db } from './db.ts'
import { affectedRows } from './rows.ts'

export const LOST_ERROR = 'the attempt never settled: its process ended, or it came too late'

/** Enters an attempt that ended, but not in `done`, into the event's story; in the transaction of its settle. */
export async function recordAttempt(
  tx: Db,
  attempt: {
    dedupeKey: string
    attempt: number
    outcome: 'retry' | 'dead' | 'snooze'
    error: string | null
  },
): Promise<void> {
  await affectedRows(
    tx,
    `INSERT INTO sume_attempts (dedupe_key, attempt, worker, started_at, ended_at, outcome, error)
     SELECT dedupe_key, ?, leased_by, leased_at, NOW(3), ?, ? FROM sume_events WHERE dedupe_key = ?`,
    [attempt.attempt, attempt.outcome, attempt.error, attempt.dedupeKey],
  )
}

/** Enters the attempt whose lease ran out without a settle, if there is one, as `lost`; before its token is overwritten. */
export async function recordLostAttempt(tx: Db, dedupeKey: string): Promise<void> {
  await affectedRows(
    tx,
    `INSERT INTO sume_attempts (dedupe_key, attempt, worker, started_at, ended_at, outcome, error)
     SELECT dedupe_key, attempts, leased_by, leased_at, leased_until, 'lost', ? FROM sume_events
      WHERE dedupe_key = ? AND state = 'claimed' AND lease_token IS NOT NULL AND leased_until <= NOW(3)
        FOR UPDATE`,
    [LOST_ERROR, dedupeKey],
  )
}
