import type { Db } from './db.ts'
import { rows } from './rows.ts'

/** How many events are alike in all that `status` counts by. */
export interface EventCount {
  readonly state: 'claimed' | 'done' | 'dead'
  readonly kind: 'job' | 'run'
  readonly status: 'OK' | 'ERROR'
  readonly events: number
}

/**
 * Counts the events by state, kind and status. Reads one index only: a run is known by its key, and
 * ERROR by `urgent`.
 *
 * @throws DeadlineError on a ledger too large to be counted in the time of one statement.
 */
export async function countEvents(db: Db): Promise<EventCount[]> {
  const counted = await rows<{
    state: EventCount['state']
    is_run: number
    urgent: number
    events: number
  }>(
    db,
    `SELECT state, dedupe_key LIKE 'run:%' AS is_run, urgent, COUNT(*) AS events
       FROM sume_events GROUP BY state, is_run, urgent ORDER BY state, is_run, urgent DESC`,
    [],
  )
  return counted.map((row) => ({
    state: row.state,
    kind: row.is_run === 1 ? 'run' : 'job',
    status: row.urgent === 1 ? 'ERROR' : 'OK',
    events: row.events,
  }))
}
