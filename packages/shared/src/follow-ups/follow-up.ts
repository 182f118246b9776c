import type { Kind, Status } from '../envelope/index.ts'
import type { Db } from '../ledger/index.ts'
import type { Outcome } from './outcome.ts'

/**
 * A body as Sume sends it. Only the envelope is promised; the rest is what was seen or inferred, so
 * everything is optional and unknown fields are let through.
 */
export interface SumePayload {
  readonly event: string
  readonly status: Status
  readonly job_id?: string
  readonly run_id?: string
  readonly request_id?: string
  readonly result?: {
    readonly artifacts?: readonly SumeArtifact[]
    readonly [field: string]: unknown
  }
  readonly error?: {
    readonly code?: string
    readonly message?: string
    readonly public_reason?: string
    readonly [field: string]: unknown
  }
  readonly [field: string]: unknown
}

/** A file that a job made. */
export interface SumeArtifact {
  readonly url?: string
  readonly type?: string
  readonly content_type?: string
}

/** Our record of a paid submit. */
export interface FollowUpIntent {
  /** The `Idempotency-Key`. */
  readonly key: string
  readonly path: string
  /** What was submitted, parsed; `null` for one that was adopted, or is no JSON. */
  readonly body: Readonly<Record<string, unknown>> | null
  readonly createdAt: Date
}

/** The event that a follow-up is about. */
export interface FollowUpEvent {
  readonly dedupeKey: string
  readonly kind: Kind
  /** `job_id` or `run_id`. */
  readonly sumeId: string
  readonly requestId: string | null
  readonly event: string
  readonly status: Status
  /** The first delivery's body, parsed. Big numbers are rounded here, not in `raw`. */
  readonly payload: SumePayload
  /** The first delivery's body, byte for byte as it was signed. */
  readonly raw: string
  /** How often Sume has delivered it so far. */
  readonly deliveries: number
  readonly source: 'webhook' | 'poll'
  readonly firstSeen: Date
  /** Our record of the paid submit behind it, or `null` where there is none (yet: a webhook may be faster than the submit's answer). */
  readonly intent: FollowUpIntent | null
}

/** Where a follow-up writes its log lines; each carries the event's ids. */
export interface FollowUpLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** One attempt at a follow-up. */
export interface FollowUpContext {
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly maxAttempts: number
  /** Aborts at the attempt's time limit, when the lease is lost, and at shutdown. Hand it to `fetch`. */
  readonly signal: AbortSignal
  readonly log: FollowUpLog
  /**
   * Runs `work` in one MySQL transaction with this event's `done`: both commit, or neither. May be
   * called once. After it has returned the event is done, whatever the follow-up does next. The server
   * ends a transaction that sends nothing for 45 s, so call other systems before, not inside.
   *
   * @throws LedgerError `LEASE_LOST` when another attempt holds the event by now; whatever `work` throws.
   */
  complete<T>(work: (tx: Db) => Promise<T>): Promise<T>
  /** An outcome to return: not now, in `ms` milliseconds. Uses up no attempt, but may be said only so often. */
  snooze(ms: number): Outcome
  /** An outcome to return: never; the event goes dead with this reason. */
  discard(reason: string): Outcome
}

/** What to do about an event. Returning is done; throwing is "again later". */
// eslint-disable-next-line typescript/no-invalid-void-type -- a follow-up that returns nothing is the usual one
export type FollowUp = (
  event: FollowUpEvent,
  ctx: FollowUpContext,
) => Promise<Outcome | void> | Outcome | void
