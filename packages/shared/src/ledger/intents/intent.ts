import type { Kind } from '../../envelope/index.ts'

/**
 * How a paid submit stands.
 * - `pending`: not sent yet, or sent without a definite answer; the submitter sends it, with the same key and bytes each time.
 * - `submitted`: Sume has it under `sume_id`; its event is awaited.
 * - `conflict`: Sume knows the key with another body.
 * - `rejected`: Sume refused it for good.
 * - `settled`: its event is in the ledger.
 * - `lost`: no outcome was known within the horizon; a webhook that still comes makes it `settled`.
 */
export type IntentState = 'pending' | 'submitted' | 'conflict' | 'rejected' | 'settled' | 'lost'

/** An intent without its body, which carries a prompt. Times are MySQL's, in UTC. */
export interface IntentSummary {
  readonly idempotency_key: string
  readonly path: string
  /** Of the body's UTF-8 bytes, 64 hex digits. */
  readonly body_sha256: string
  readonly kind: Kind
  readonly sume_id: string | null
  readonly state: IntentState
  /** Times that it was sent. */
  readonly attempts: number
  /** Times that Sume was asked about it. */
  readonly polls: number
  readonly last_error: string | null
  readonly error_code: string | null
  /** The `request_id` of the call that failed last: what to quote to Sume's support. It names no job. */
  readonly error_request_id: string | null
  readonly created_at: Date
  readonly submitted_at: Date | null
  readonly settled_at: Date | null
  readonly due_at: Date
  readonly leased_until: Date | null
}

/** The columns of an `IntentSummary`. */
export const INTENT_COLUMNS = `idempotency_key, path, LOWER(HEX(body_sha256)) AS body_sha256, kind, sume_id, state, attempts, polls,
            last_error, error_code, error_request_id, created_at, submitted_at, settled_at, due_at, leased_until`

/** An intent under our lease. */
export interface LeasedIntent {
  readonly idempotency_key: string
  readonly path: string
  readonly body: string
  readonly kind: Kind
  /** The number of this try. */
  readonly attempts: number
}

/** The hold that a submitter has on an intent. `token`: 16 random bytes, made for this lease only. */
export interface IntentLease {
  readonly key: string
  readonly token: Buffer
}

/** What Sume's refusal said, without its words: they may quote a prompt. */
export interface IntentError {
  readonly text: string
  readonly code: string | null
  readonly requestId: string | null
}
