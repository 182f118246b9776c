import type { Kind } from '../envelope/index.ts'
import { hasEnded, isKnown, SumeError, type SumeStatus } from '../sume/index.ts'

/** What the reconciler knows of an intent when it has asked about it. */
export interface Asked {
  readonly kind: Kind
  /** Times that Sume was asked before. */
  readonly polls: number
  /** Since Sume's id was known, in milliseconds. */
  readonly ageMs: number
  /** What Sume said, or why it said nothing. */
  readonly answer: SumeStatus | SumeError
  /** It has ended, and why its result could not be had. */
  readonly withoutResult?: SumeError | undefined
}

export interface PollRules {
  readonly afterMs: number
  readonly horizonMs: number
}

/** What follows. */
export type PollVerdict =
  /** Its outcome is known. */
  | { readonly what: 'ended' }
  /** Asked again after so long. */
  | { readonly what: 'open'; readonly delayMs: number; readonly error?: string }
  /** Sume cannot be asked now, by anybody: it counts as no poll, and the round ends. */
  | { readonly what: 'away'; readonly delayMs: number; readonly error: string }
  /** Nobody knows what became of it, and it is too late to ask. */
  | { readonly what: 'lost'; readonly error: string }

/** However long it takes, it is asked about once in this time, in milliseconds. */
const LONGEST_MS = 3_600_000
/** What Sume recommends, where it could not be asked. */
const SHORTEST_MS = 2000
/** Sume's answers that say nothing about the job: it is busy, or does not take our key. */
const AWAY = new Set([401, 403, 408, 425, 429])
const AWAY_MS = 10_000

/**
 * Decides about an intent from what Sume said of it. The interval doubles from `afterMs` on, is never
 * shorter than Sume recommends, and follows from the row alone, so it survives restarts.
 */
export function judgePoll(asked: Asked, rules: PollRules): PollVerdict {
  const { kind, ageMs, answer, withoutResult } = asked
  const tooLate = ageMs >= rules.horizonMs
  const failure = answer instanceof SumeError ? answer : withoutResult
  if (failure !== undefined) {
    const error = failure.message
    if (isAway(failure)) {
      const delayMs = Math.min(Math.max(failure.retryAfterMs ?? 0, AWAY_MS), LONGEST_MS)
      return { what: 'away', delayMs, error }
    }
    if (!tooLate) return { what: 'open', delayMs: intervalMs(asked, rules, SHORTEST_MS), error }
    // That it is completed is known; the follow-up learns it, although with an empty result.
    if (failure === withoutResult) return { what: 'ended' }
    return { what: 'lost', error: `no outcome within the horizon; ${error}` }
  }
  if (answer instanceof SumeError) throw answer
  if (hasEnded(kind, answer)) return { what: 'ended' }
  const said = `Sume says ${answer.status}`
  if (tooLate) return { what: 'lost', error: `no outcome within the horizon; ${said}` }
  const delayMs = intervalMs(asked, rules, answer.recommendedMs)
  return isKnown(kind, answer)
    ? { what: 'open', delayMs }
    : { what: 'open', delayMs, error: `${said}, which is no word that we know` }
}

/** Whether an answer says nothing about the job itself, so that the next job would fare the same. */
const isAway = ({ kind, status }: SumeError): boolean =>
  kind === 'unreached' ||
  (status !== null && (AWAY.has(status) || status >= 500 || (status >= 300 && status < 400)))

function intervalMs({ polls }: Asked, { afterMs }: PollRules, leastMs: number): number {
  const grown = afterMs * 2 ** Math.min(polls, 20)
  return Math.max(Math.min(grown, LONGEST_MS), leastMs)
}
