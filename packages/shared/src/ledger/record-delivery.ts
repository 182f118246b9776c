import type { Envelope } from '../envelope/index.ts'
import type { Db } from './db.ts'
import { affectedRows } from './rows.ts'

export interface Recording {
  readonly envelope: Envelope
  /** The body, byte for byte; valid UTF-8. */
  readonly raw: Buffer
  /** A poll is not a delivery: it inserts 0 and adds 0. */
  readonly source: 'webhook' | 'poll'
  /** How many deliveries of a webhook this stands for; 1 unless it comes out of the quarantine. */
  readonly deliveries?: number
  /** After so long without a claim, in milliseconds, the sweeper steps in. */
  readonly graceMs: number
}

/**
 * The statement: the only dedupe mechanism there is. One row for each dedupe key, whoever comes first;
 * the first payload stays, and a duplicate never moves `due_at`.
 *
 * @returns `first` for the one call that made the row (affected rows 1), `duplicate` for every other.
 * @throws what the driver throws. After a lost answer the row may be there: the next delivery is then
 *   a `duplicate`, and the sweeper is what enqueues the event.
 */
export async function recordDelivery(db: Db, recording: Recording): Promise<'first' | 'duplicate'> {
  const { envelope, raw, source, graceMs } = recording
  const adds = source === 'webhook' ? (recording.deliveries ?? 1) : 0
  const affected = await affectedRows(
    db,
    `INSERT INTO sume_events (dedupe_key, kind, sume_id, request_id, event, status, payload, source, deliveries, due_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NOW(3) + INTERVAL ? * 1000 MICROSECOND)
     ON DUPLICATE KEY UPDATE deliveries = LEAST(deliveries + ?, 4294967295), last_seen = NOW(3), diverged = diverged OR status <> ?`,
    [
      envelope.dedupeKey,
      envelope.kind,
      envelope.sumeId,
      envelope.requestId,
      envelope.event,
      envelope.status,
      raw,
      source,
      adds,
      graceMs,
      adds,
      envelope.status,
    ],
  )
  return affected === 1 ? 'first' : 'duplicate'
}
