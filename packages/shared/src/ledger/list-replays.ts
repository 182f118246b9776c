import type { Db } from './db.ts'
import { rows } from './rows.ts'

/** A person's decision to run an event's follow-up again. */
export interface ReplayRow {
  /** `released`: its body left the quarantine. */
  readonly what: 'retry' | 'replay' | 'forced' | 'released'
  readonly replayed_by: string
  readonly why: string | null
  readonly replayed_at: Date
}

/** An event's replays in order, the latest `limit` of them. */
export async function listReplays(db: Db, dedupeKey: string, limit: number): Promise<ReplayRow[]> {
  const latest = await rows<ReplayRow>(
    db,
    `SELECT what, replayed_by, why, replayed_at FROM sume_replays
      WHERE dedupe_key = ? ORDER BY id DESC LIMIT ?`,
    [dedupeKey, String(limit)],
  )
  return latest.toReversed()
}
