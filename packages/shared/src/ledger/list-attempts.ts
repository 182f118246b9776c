import type { Db } from './db.ts'
import { rows } from './rows.ts'

/** An attempt that did not end in `done`. */
export interface AttemptRow {
  readonly attempt: number
  readonly worker: string | null
  readonly started_at: Date | null
  readonly ended_at: Date | null
  /** `lost`: it never settled. */
  readonly outcome: 'retry' | 'dead' | 'snooze' | 'lost'
  readonly error: string | null
}

/** An event's unfinished attempts, in the order in which they ended, the latest `limit` of them. */
export async function listAttempts(
  db: Db,
  dedupeKey: string,
  limit: number,
): Promise<AttemptRow[]> {
  const latest = await rows<AttemptRow>(
    db,
    `SELECT attempt, worker, started_at, ended_at, outcome, error FROM sume_attempts
      WHERE dedupe_key = ? ORDER BY id DESC LIMIT ?`,
    [dedupeKey, String(limit)],
  )
  return latest.toReversed()
}
