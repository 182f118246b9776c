import { type Envelope, parseEnvelope, type Unreadable } from '../envelope/index.ts'
import type { Db, Ledger } from './db.ts'
import { recordRunWebhook } from './intents/index.ts'
import { recordDelivery } from './record-delivery.ts'
import { recordReplay, type Reviver } from './revive-event.ts'
import { affectedRows, rows } from './rows.ts'

/** A body in quarantine, without the body: it may carry prompts. */
export interface Quarantined {
  /** Of the body, 64 hex digits: its name. */
  readonly sha256: string
  readonly reason: string
  readonly bytes: number
  /** Deliveries that brought it. */
  readonly count: number
  readonly first_seen: Date
  readonly last_seen: Date
}

const COLUMNS =
  'LOWER(HEX(body_sha256)) AS sha256, reason, LENGTH(body) AS bytes, count, first_seen, last_seen'

/** The bodies in quarantine, those seen last first. */
export const listQuarantine = (
  db: Db,
  options: { limit: number; reason?: string },
): Promise<Quarantined[]> =>
  rows<Quarantined>(
    db,
    `SELECT ${COLUMNS} FROM sume_quarantine WHERE reason = COALESCE(?, reason)
      ORDER BY last_seen DESC, body_sha256 LIMIT ?`,
    [options.reason ?? null, String(options.limit)],
  )

/**
 * The bodies whose name begins so, two at most: more than one means that the beginning is too short.
 *
 * @param prefix 4 to 64 hex digits.
 */
export const readQuarantined = (
  db: Db,
  prefix: string,
): Promise<(Quarantined & { readonly body: Buffer })[]> =>
  rows<Quarantined & { body: Buffer }>(
    db,
    `SELECT ${COLUMNS}, body FROM sume_quarantine
      WHERE body_sha256 BETWEEN UNHEX(?) AND UNHEX(?) ORDER BY body_sha256 LIMIT 2`,
    [prefix.padEnd(64, '0'), prefix.padEnd(64, 'f')],
  )

/** What became of a body that was read again. */
export type Release =
  | { readonly released: true; readonly envelope: Envelope; readonly first: boolean }
  | { readonly released: false; readonly because: Unreadable | 'not there' }

/**
 * Reads a quarantined body again, by the rules of this version. One that is an event now enters by the
 * statement, with all its deliveries counted, and leaves the quarantine in the same transaction.
 *
 * @param graceMs when the sweeper steps in, if nobody has enqueued a first one.
 */
export const releaseQuarantined = (
  ledger: Ledger,
  sha256: string,
  graceMs: number,
  reviver: Reviver,
): Promise<Release> =>
  ledger.inTransaction(async (tx) => {
    const [held] = await rows<{ body: Buffer; count: number }>(
      tx,
      'SELECT body, count FROM sume_quarantine WHERE body_sha256 = UNHEX(?) FOR UPDATE',
      [sha256],
    )
    if (held === undefined) return { released: false, because: 'not there' }
    const read = parseEnvelope(held.body)
    if (!read.readable) return { released: false, because: read.reason }
    const { envelope } = read
    const { recorded, dedupeKey } = await record(tx, envelope, held, graceMs)
    await recordReplay(tx, 'released', dedupeKey, reviver)
    await affectedRows(tx, 'DELETE FROM sume_quarantine WHERE body_sha256 = UNHEX(?)', [sha256])
    return { released: true, envelope, first: recorded === 'first' }
  })

/** A quarantined body was a webhook once, so a run's meets its polled row like any other. */
async function record(
  tx: Db,
  envelope: Envelope,
  held: { body: Buffer; count: number },
  graceMs: number,
): Promise<{ recorded: 'first' | 'duplicate'; dedupeKey: string }> {
  const { body, count: deliveries } = held
  if (envelope.kind === 'run') return recordRunWebhook(tx, { envelope, body, deliveries, graceMs })
  const recorded = await recordDelivery(tx, {
    envelope,
    raw: body,
    source: 'webhook',
    deliveries,
    graceMs,
  })
  return { recorded, dedupeKey: envelope.dedupeKey }
}
