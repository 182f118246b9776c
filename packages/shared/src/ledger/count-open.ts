import type { Db } from './db.ts'
import { rows } from './rows.ts'

/** What is not finished, for metrics and alerts. */
export interface OpenEvents {
  readonly state: 'claimed' | 'dead'
  readonly status: 'OK' | 'ERROR'
  readonly events: number
  /** Seconds since the oldest of them was first seen, by the database's clock. */
  readonly oldestS: number
}

/**
 * Counts the events that are claimed or dead, by status. Its cost grows with what is open, not with the
 * history: done events are not read.
 *
 * @throws DeadlineError when even that takes longer than one statement may.
 */
export async function countOpen(db: Db): Promise<OpenEvents[]> {
  const counted = await rows<{
    state: OpenEvents['state']
    urgent: number
    events: number
    oldest_s: number
  }>(
    db,
    `SELECT state, urgent, COUNT(*) AS events,
            GREATEST(TIMESTAMPDIFF(SECOND, MIN(first_seen), UTC_TIMESTAMP(3)), 0) AS oldest_s
       FROM sume_events WHERE state IN ('claimed', 'dead') GROUP BY state, urgent`,
    [],
  )
  return counted.map((row) => ({
    state: row.state,
    status: row.urgent === 1 ? 'ERROR' : 'OK',
    events: row.events,
    oldestS: row.oldest_s,
  }))
}
