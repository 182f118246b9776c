/** How an attempt ended by the follow-up's own word; a throw is not among them, it means "again later". */
export type Outcome =
  | { readonly outcome: 'snooze'; readonly ms: number }
  | { readonly outcome: 'discard'; readonly reason: string }

/** @throws RangeError unless `ms` is a number of milliseconds from 0 to 30 days. */
export function snooze(ms: number): Outcome {
  const longest = 30 * 24 * 3600 * 1000
  if (!(ms >= 0 && ms <= longest))
    throw new RangeError(`snooze takes milliseconds from 0 to ${longest}`)
  return { outcome: 'snooze', ms: Math.round(ms) }
}

/** The event goes dead with this reason. */
export const discard = (reason: string): Outcome => ({ outcome: 'discard', reason })

/** Whether a follow-up's return value is an outcome; anything else that it returns counts as done. */
export const isOutcome = (value: unknown): value is Outcome =>
  typeof value === 'object' &&
  value !== null &&
  'outcome' in value &&
  (value.outcome === 'snooze' || value.outcome === 'discard')
