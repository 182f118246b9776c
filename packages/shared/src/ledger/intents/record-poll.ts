import { type Envelope, runKey } from '../../envelope/index.ts'
import type { Db, Ledger } from '../db.ts'
import { recordDelivery } from '../record-delivery.ts'
import { affectedRows, changesOne, rows } from '../rows.ts'

/** A job or run has not ended: it is asked about again after `delayMs`. */
export const postponePoll = (
  db: Db,
  key: string,
  later: { delayMs: number; counted: boolean; error?: string },
): Promise<boolean> =>
  changesOne(
    db,
    `UPDATE sume_intents SET polls = polls + ?, last_error = ?, due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND
      WHERE idempotency_key = ? AND state = 'submitted'`,
    [later.counted ? 1 : 0, later.error ?? null, later.delayMs, key],
  )

/** The horizon has passed without an outcome. @returns `false` when it is not `submitted` any more. */
export const loseIntent = (db: Db, key: string, error: string): Promise<boolean> =>
  changesOne(
    db,
    "UPDATE sume_intents SET state = 'lost', last_error = ?, due_at = NOW(3) WHERE idempotency_key = ? AND state = 'submitted'",
    [error, key],
  )

/**
 * Brings an outcome that was asked for into the ledger, and settles its intent, in one transaction that
 * holds the intent's row: a run's webhook waits for that, or this for it, so that they meet in one row
 * (docs/decisions/0009-where-webhook-and-poll-meet.md).
 *
 * @param body of the shape that a webhook has.
 * @returns `first` when the webhook had not come; `duplicate` when it had.
 */
export const recordPoll = (
  ledger: Ledger,
  key: string,
  outcome: { envelope: Envelope; body: Buffer; graceMs: number },
): Promise<'first' | 'duplicate'> =>
  ledger.inTransaction(async (tx) => {
    const { envelope, body, graceMs } = outcome
    await rows(tx, 'SELECT 1 FROM sume_intents WHERE idempotency_key = ? FOR UPDATE', [key])
    const recorded = (await webhookOfRun(tx, envelope))
      ? 'duplicate'
      : await recordDelivery(tx, { envelope, raw: body, source: 'poll', graceMs })
    await affectedRows(
      tx,
      `UPDATE sume_intents SET state = 'settled', settled_at = NOW(3), polls = polls + 1, last_error = NULL
        WHERE idempotency_key = ? AND state IN ('submitted', 'lost')`,
      [key],
    )
    return recorded
  })

/** Whether a webhook of this run is in the ledger: its key is its request id's, which a poll does not know. */
async function webhookOfRun(db: Db, { kind, sumeId }: Envelope): Promise<boolean> {
  if (kind === 'job') return false
  const there = await rows(
    db,
    "SELECT 1 FROM sume_events WHERE sume_id = ? AND kind = 'run' LIMIT 1",
    [sumeId],
  )
  return there.length > 0
}

/**
 * Records the webhook of a run. Where a poll was first, the first webhook counts as a delivery on the
 * polled row and gives it its request id; a webhook with another request id is another event.
 *
 * @returns the row's dedupe key, and whether it is a first delivery.
 */
export const recordRunWebhook = async (
  db: Db,
  webhook: { envelope: Envelope; body: Buffer; deliveries?: number; graceMs: number },
): Promise<{ recorded: 'first' | 'duplicate'; dedupeKey: string }> => {
  const { envelope, body, deliveries = 1, graceMs } = webhook
  // Makes it wait for a poll that is writing. Without an intent nobody polls, and no lock is taken.
  await rows(db, 'SELECT 1 FROM sume_intents WHERE sume_id = ? FOR UPDATE', [envelope.sumeId])
  const polledKey = runKey(envelope.sumeId)
  if (envelope.requestId !== null) {
    const met = await changesOne(
      db,
      `UPDATE sume_events SET deliveries = LEAST(deliveries + ?, 4294967295), last_seen = NOW(3), request_id = ?, diverged = diverged OR status <> ?
        WHERE dedupe_key = ? AND source = 'poll' AND (request_id IS NULL OR request_id = ?)`,
      [deliveries, envelope.requestId, envelope.status, polledKey, envelope.requestId],
    )
    if (met) return { recorded: 'duplicate', dedupeKey: polledKey }
  }
  const recorded = await recordDelivery(db, {
    envelope,
    raw: body,
    source: 'webhook',
    deliveries,
    graceMs,
  })
  return { recorded, dedupeKey: envelope.dedupeKey }
}
