import type { Db, Ledger } from './db.ts'
import { lockUnsettled, recordLostAttempt } from './record-attempt.ts'
import { changesOne, rows } from './rows.ts'

export interface Claim {
  readonly dedupeKey: string
  /** 16 random bytes, made by the worker before it claims and never used twice: the fence of every later statement. */
  readonly token: Buffer
  readonly leaseMs: number
  readonly maxAttempts: number
  /** Who claims; printable ASCII, for people. */
  readonly worker: string
}

/** An event under our lease, as the claim left it. */
export interface ClaimedEvent {
  readonly attempts: number
  readonly kind: 'job' | 'run'
  readonly sume_id: string
  readonly request_id: string | null
  readonly event: string
  readonly status: 'OK' | 'ERROR'
  readonly payload: string
  readonly source: 'webhook' | 'poll'
  readonly deliveries: number
  readonly first_seen: Date
  /** Of the intent behind it; all `null` where there is none. */
  readonly intent_key: string | null
  readonly intent_path: string | null
  readonly intent_body: string | null
  readonly intent_created_at: Date | null
}

/**
 * Takes an event for one attempt. Refused while another lease is valid, when no attempt is left, and
 * when the event is not `claimed` (any more). Rules 1, 2, 5 and 10 of the checked protocol.
 *
 * @returns whether this token holds the event now.
 */
export async function claimEvent(ledger: Ledger, claim: Claim): Promise<boolean> {
  // The common case, one statement: nobody has ever leased the row, or the last attempt settled.
  if (await takeUnleased(ledger, claim)) return true
  // A token without a valid lease is an attempt that never settled: it enters the event's story as `lost`.
  return ledger.inTransaction(async (tx) => {
    const unsettled = await lockUnsettled(tx, claim.dedupeKey)
    if (!(await takeOver(tx, claim))) return false
    if (unsettled !== null) await recordLostAttempt(tx, unsettled)
    return true
  })
}

const takeUnleased = (db: Db, claim: Claim): Promise<boolean> =>
  changesOne(
    db,
    `UPDATE sume_events SET attempts = attempts + 1, lease_token = ?, leased_by = ?, leased_at = NOW(3),
            leased_until = NOW(3) + INTERVAL ? * 1000 MICROSECOND, due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND
      WHERE dedupe_key = ? AND state = 'claimed' AND attempts < ? AND lease_token IS NULL`,
    [claim.token, claim.worker, claim.leaseMs, claim.leaseMs, claim.dedupeKey, claim.maxAttempts],
  )

const takeOver = (db: Db, claim: Claim): Promise<boolean> =>
  changesOne(
    db,
    `UPDATE sume_events SET attempts = attempts + 1, lease_token = ?, leased_by = ?, leased_at = NOW(3),
            leased_until = NOW(3) + INTERVAL ? * 1000 MICROSECOND, due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND
      WHERE dedupe_key = ? AND state = 'claimed' AND attempts < ? AND (leased_until IS NULL OR leased_until <= NOW(3))`,
    [claim.token, claim.worker, claim.leaseMs, claim.leaseMs, claim.dedupeKey, claim.maxAttempts],
  )

/**
 * Reads what was claimed, by the token that claimed it.
 *
 * @returns `null` when the lease is lost already: to be treated as a refused claim.
 */
export async function readClaimed(
  db: Db,
  dedupeKey: string,
  token: Buffer,
): Promise<ClaimedEvent | null> {
  const [claimed] = await rows<ClaimedEvent>(
    db,
    `SELECT e.attempts, e.kind, e.sume_id, e.request_id, e.event, e.status, e.payload, e.source, e.deliveries, e.first_seen,
            i.idempotency_key AS intent_key, i.path AS intent_path, i.body AS intent_body, i.created_at AS intent_created_at
       FROM sume_events e LEFT JOIN sume_intents i ON i.sume_id = e.sume_id
      WHERE e.dedupe_key = ? AND e.lease_token = ?`,
    [dedupeKey, token],
  )
  return claimed ?? null
}
