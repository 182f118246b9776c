import type { LeaseStep } from '../ledger-log.ts'

/** A worker process that was killed. */
export interface Crash {
  readonly pid: number
  /** Unix time in milliseconds. */
  readonly at: number
}

/**
 * How long it took at most until an event that a killed worker held was claimed again, in milliseconds.
 *
 * @param steps in order. @returns `null` when no killed worker held one.
 */
export function slowestRetry(
  steps: readonly LeaseStep[],
  crashes: readonly Crash[],
): number | null {
  const killedAt = new Map(crashes.map(({ pid, at }) => [pid, at]))
  const last = new Map<string, LeaseStep>()
  let slowest: number | null = null
  for (const step of steps) {
    const before = last.get(step.dedupe_key)
    last.set(step.dedupe_key, step)
    if (before?.step !== 'claim' || step.step !== 'claim') continue
    const crash = killedAt.get(before.pid)
    if (crash === undefined || step.at.getTime() < crash) continue
    slowest = Math.max(slowest ?? 0, step.at.getTime() - crash)
  }
  return slowest
}
