import type { Db } from './db.ts'
import { SUMMARY_COLUMNS } from './event-summary.ts'
import type { EventSummary } from './find-events.ts'
import { rows } from './rows.ts'

/**
 * The events that an id names, oldest first: by their dedupe key, with or without its `run:`, or by
 * Sume's `job_id` or `run_id`. Three look-ups in indexes, however large the ledger is.
 *
 * @param id printable ASCII, as the ledger's ids are.
 */
export const findByAnyId = (db: Db, id: string): Promise<EventSummary[]> =>
  rows<EventSummary>(
    db,
    `SELECT ${SUMMARY_COLUMNS}
       FROM sume_events WHERE dedupe_key = ? OR dedupe_key = ? OR sume_id = ? ORDER BY first_seen`,
    [id, `run:${id}`, id],
  )

/**
 * The events with this `request_id`, oldest first: for the few whose key is another (a job with a
 * request id of its own, a polled run). Reads the whole table, because no index has the column.
 *
 * @throws DeadlineError on a ledger too large for that.
 */
export const findByRequestId = (db: Db, requestId: string): Promise<EventSummary[]> =>
  rows<EventSummary>(
    db,
    `SELECT ${SUMMARY_COLUMNS} FROM sume_events WHERE request_id = ? ORDER BY first_seen`,
    [requestId],
  )
