import type { Db } from './db.ts'
import { SUMMARY_COLUMNS } from './event-summary.ts'
import type { EventSummary } from './find-events.ts'
import { rows } from './rows.ts'

/** An event in a list. Ages are by MySQL's clock, in seconds. */
export interface ListedEvent extends EventSummary {
  readonly age_s: number
  /** How long ago it was due; negative when that is still to come. */
  readonly overdue_s: number
  /** Whether an attempt holds it now. */
  readonly leased: number
}

/** The events in one state, ERROR first and of those the oldest first, `limit` at most. */
export const listEvents = (
  db: Db,
  state: EventSummary['state'],
  limit: number,
): Promise<ListedEvent[]> =>
  rows<ListedEvent>(
    db,
    `SELECT ${SUMMARY_COLUMNS},
            TIMESTAMPDIFF(SECOND, first_seen, NOW(3)) AS age_s,
            TIMESTAMPDIFF(SECOND, due_at, NOW(3)) AS overdue_s,
            leased_until IS NOT NULL AND leased_until > NOW(3) AS leased
       FROM sume_events WHERE state = ? ORDER BY urgent DESC, first_seen LIMIT ?`,
    [state, String(limit)],
  )
