import type { IntentError } from '../ledger/index.ts'
import { type Backoff, backoffMs, errorText } from '../runtime/index.ts'
import { SumeError } from '../sume/index.ts'

/** What becomes of an intent whose call failed. */
export type SubmitVerdict =
  | { readonly state: 'conflict' | 'rejected'; readonly error: IntentError }
  | {
      readonly state: 'pending'
      readonly error: IntentError
      readonly delayMs: number
      /** Sume asks everybody to wait, or is away: nothing else is sent for so long. */
      readonly pauseMs: number
    }

/** Sume knows this key with another body. */
const CONFLICT = 'idempotency_conflict'
/**
 * About who calls, not about what is asked for: Sume has not looked whether it knows the key. After a try without a
 * definite answer they leave open whether that one was paid.
 */
const ABOUT_THE_CALLER = new Set([401, 402, 403])

/**
 * Decides about a failed submit. Only a definite answer ends it: after anything else nobody knows whether
 * it was paid, so the same key and bytes are sent again, for as long as it takes.
 *
 * @param attempt the number of the try that failed. None that came before it had a definite answer.
 */
export function judgeSubmit(
  thrown: unknown,
  attempt: number,
  backoff: Backoff,
  random?: () => number,
): SubmitVerdict {
  if (!(thrown instanceof SumeError)) {
    const error = { text: errorText(thrown), code: null, requestId: null }
    return { state: 'pending', error, delayMs: backoffMs(attempt, backoff, random), pauseMs: 0 }
  }
  const error = { text: thrown.message, code: thrown.code, requestId: thrown.requestId }
  if (thrown.code === CONFLICT && thrown.status === 409) return { state: 'conflict', error }
  const saysNothing = attempt > 1 && ABOUT_THE_CALLER.has(thrown.status ?? 0)
  if (!thrown.retryable && !saysNothing) return { state: 'rejected', error }
  const asked = Math.min(thrown.retryAfterMs ?? 0, backoff.capMs)
  return {
    state: 'pending',
    error,
    delayMs: Math.max(asked, backoffMs(attempt, backoff, random)),
    pauseMs: thrown.status === 429 ? Math.max(asked, backoff.baseMs) : asked,
  }
}
