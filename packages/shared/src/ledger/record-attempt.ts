import type { Db } from './db.ts'
import { affectedRows, rows } from './rows.ts'

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

/** An attempt whose token is still in the row, although it may have lost its lease. */
export interface UnsettledAttempt {
  readonly dedupeKey: string
  readonly attempt: number
  readonly worker: string | null
  readonly startedAt: Date | null
  readonly leasedUntil: Date | null
}

/**
 * Locks the event's row and reads the attempt that has not settled, before a statement overwrites it.
 *
 * @returns `null` when every attempt has settled.
 */
export async function lockUnsettled(tx: Db, dedupeKey: string): Promise<UnsettledAttempt | null> {
  const [row] = await rows<UnsettledAttempt>(
    tx,
    `SELECT dedupe_key AS dedupeKey, attempts AS attempt, leased_by AS worker, leased_at AS startedAt,
            leased_until AS leasedUntil
       FROM sume_events WHERE dedupe_key = ? AND lease_token IS NOT NULL FOR UPDATE`,
    [dedupeKey],
  )
  return row ?? null
}

/**
 * Enters an attempt whose lease ran out without a settle into the event's story as `lost`. Only after
 * the statement that overwrote its token: a refused one must leave no trace.
 */
export async function recordLostAttempt(tx: Db, lost: UnsettledAttempt): Promise<void> {
  await affectedRows(
    tx,
    `INSERT INTO sume_attempts (dedupe_key, attempt, worker, started_at, ended_at, outcome, error)
     VALUES (?, ?, ?, ?, ?, 'lost', ?)`,
    [lost.dedupeKey, lost.attempt, lost.worker, lost.startedAt, lost.leasedUntil, LOST_ERROR],
  )
}
