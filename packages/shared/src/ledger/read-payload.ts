import type { Db } from './db.ts'
import { rows } from './rows.ts'

/** An event's body as Sume sent it first. @returns `null` when there is no such event. */
export async function readPayload(db: Db, dedupeKey: string): Promise<string | null> {
  const [row] = await rows<{ payload: string }>(
    db,
    'SELECT payload FROM sume_events WHERE dedupe_key = ?',
    [dedupeKey],
  )
  return row?.payload ?? null
}
