export interface Backoff {
  /** First delay, in milliseconds. */
  readonly baseMs: number
  /** No delay is longer than this, in milliseconds. */
  readonly capMs: number
}

/**
 * How long to wait after the `attempt`th attempt failed: `baseMs` doubled for each attempt before it,
 * at most `capMs`, and of that a random part between a half and the whole, so that events which
 * failed together do not come back together.
 *
 * @param attempt 1 after the first attempt.
 * @param random gives a number in [0, 1).
 * @returns whole milliseconds (the two database families round fractions differently).
 */
export function backoffMs(attempt: number, backoff: Backoff, random: () => number = Math.random) {
  const grown = backoff.baseMs * 2 ** Math.min(Math.max(attempt, 1) - 1, 40)
  const capped = Math.min(grown, backoff.capMs)
  return Math.round(capped / 2 + (random() * capped) / 2)
}
