import type { Db } from './db.ts'
import { rows } from './rows.ts'

/** An event without its payload. Times are MySQL's, in UTC. */
export interface EventSummary {
  readonly dedupe_key: string
  readonly kind: 'job' | 'run'
  readonly sume_id: string
  readonly request_id: string | null
  readonly event: string
  readonly status: 'OK' | 'ERROR'
  readonly source: 'webhook' | 'poll'
  readonly state: 'claimed' | 'done' | 'dead'
  readonly deliveries: number
  readonly diverged: number
  readonly attempts: number
  readonly snoozes: number
  readonly last_error: string | null
  readonly first_seen: Date
  readonly last_seen: Date
  readonly due_at: Date
  readonly done_at: Date | null
  readonly leased_until: Date | null
  readonly leased_by: string | null
}

/** The events of a job or run, by `job_id` or `run_id`, oldest first: one, but for a run that ended under several request ids. */
export const findEvents = (db: Db, sumeId: string): Promise<EventSummary[]> =>
  rows<EventSummary>(
    db,
    `SELECT dedupe_key, kind, sume_id, request_id, event, status, source, state, deliveries, diverged, attempts,
            snoozes, last_error, first_seen, last_seen, due_at, done_at, leased_until, leased_by
       FROM sume_events WHERE sume_id = ? ORDER BY first_seen`,
    [sumeId],
  )
