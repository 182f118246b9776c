import type { FollowUp } from './follow-up.ts'

/** Follow-ups by pattern: an event's whole name, `prefix.*`, or `*`. */
export type FollowUps = Readonly<Record<string, FollowUp>>

const PATTERN = /^(\*|[\x21-\x29\x2b-\x7e]{1,62}(\.\*)?)$/

/**
 * The default export of a `FOLLOW_UPS` module. The most specific pattern wins: the whole name, then
 * the longest `prefix.*`, then `*`.
 *
 * @throws TypeError that names every entry which can never be used: a pattern of another form, or a
 *   value that is not a function.
 */
export function defineFollowUps(followUps: FollowUps): FollowUps {
  const problems: string[] = []
  const entries = Object.entries(followUps)
  if (entries.length === 0)
    problems.push('there is no entry; an event that no entry matches goes dead')
  for (const [pattern, followUp] of entries) {
    if (!PATTERN.test(pattern)) {
      problems.push(`'${pattern}' is not a pattern; use a whole name, 'prefix.*' or '*'`)
    }
    if (typeof followUp !== 'function') problems.push(`'${pattern}' is not a function`)
  }
  if (problems.length > 0) throw new TypeError(`follow-ups: ${problems.join('; ')}`)
  return followUps
}

/** The follow-up for an event's name, or `null` where no entry matches. */
export function findFollowUp(followUps: FollowUps, event: string): FollowUp | null {
  const has = (pattern: string) => Object.hasOwn(followUps, pattern)
  if (has(event)) return followUps[event] ?? null
  for (let dot = event.lastIndexOf('.'); dot > 0; dot = event.lastIndexOf('.', dot - 1)) {
    const pattern = `${event.slice(0, dot)}.*`
    if (has(pattern)) return followUps[pattern] ?? null
  }
  return has('*') ? (followUps['*'] ?? null) : null
}
