import type { RowDataPacket } from 'mysql2/promise'
import type { Db } from './db.ts'

/** Which events of one state are meant. What is not given does not matter. */
export interface EventFilter {
  readonly state: 'dead' | 'done'
  readonly kind?: 'job' | 'run'
  readonly status?: 'OK' | 'ERROR'
  /** The event's name, whole: `job.failed`. */
  readonly event?: string
  /** First seen at this time or later, and before that time. */
  readonly since?: Date
  readonly until?: Date
  /** Part of the last error. */
  readonly error?: string
}

/** Where a page ended. */
export interface PageCursor {
  readonly urgent: 0 | 1
  readonly dueAt: Date
  readonly dedupeKey: string
}

export interface EventPage {
  readonly matching: { readonly dedupeKey: string; readonly status: 'OK' | 'ERROR' }[]
  /** `null` after the last page. */
  readonly next: PageCursor | null
}

/** Rows read by one statement, matching or not: its time stays the same however few match. */
const ROWS = 1000

interface Row extends RowDataPacket {
  readonly dedupe_key: string
  readonly status: 'OK' | 'ERROR'
  readonly due_at: Date
  readonly matches: number
}

/**
 * Reads one page of the events that a filter means, ERROR first and then by `due_at`, along the index.
 * An event whose state changes meanwhile may be met later again, or not at all.
 */
export async function pageEvents(
  db: Db,
  filter: EventFilter,
  after: PageCursor | null,
): Promise<EventPage> {
  const urgent = after?.urgent ?? 1
  const conditions: [string, unknown][] = [
    ['kind = ?', filter.kind],
    ['status = ?', filter.status],
    ['event = ?', filter.event],
    ['first_seen >= ?', filter.since],
    ['first_seen < ?', filter.until],
    ['COALESCE(LOCATE(?, last_error), 0) > 0', filter.error],
  ]
  const wanted = conditions.filter(([, value]) => value !== undefined)
  const matches = wanted.map(([sql]) => sql).join(' AND ') || '1'
  const from = after === null ? '' : 'AND due_at >= ? AND (due_at > ? OR dedupe_key > ?)'
  const [rows] = await db.query<Row[]>(
    `SELECT dedupe_key, status, due_at, ${matches} AS matches FROM sume_events
      WHERE state = ? AND urgent = ? ${from} ORDER BY due_at, dedupe_key LIMIT ${ROWS}`,
    [
      ...wanted.map(([, value]) => value),
      filter.state,
      urgent,
      ...(after === null ? [] : [after.dueAt, after.dueAt, after.dedupeKey]),
    ],
  )
  return {
    matching: rows
      .filter((row) => row.matches === 1)
      .map((row) => ({ dedupeKey: row.dedupe_key, status: row.status })),
    next: nextCursor(urgent, rows),
  }
}

function nextCursor(urgent: 0 | 1, rows: readonly Row[]): PageCursor | null {
  const last = rows.at(-1)
  if (last !== undefined && rows.length === ROWS)
    return { urgent, dueAt: last.due_at, dedupeKey: last.dedupe_key }
  // The ERROR events are through; before the first of the others stands nothing.
  return urgent === 1 ? { urgent: 0, dueAt: new Date(0), dedupeKey: '' } : null
}
