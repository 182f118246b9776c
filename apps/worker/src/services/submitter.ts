import { submitNext, type SubmitDeps, type SubmitRules } from '@sume-inbox/shared/intents'
import { makeRate, type Service } from '@sume-inbox/shared/runtime'
import type { Events } from '@sume-inbox/shared/telemetry'

export interface SubmitterRules extends Omit<SubmitRules, 'leaseMs'> {
  /** Calls in flight. */
  readonly concurrency: number
  /** Calls begun, by this process. */
  readonly perSecond: number
}

/** How long a new intent may wait before one of the submitters sees it. */
const EVERY_MS = 1000
/** One run's share: a backlog is worked off over many runs, each of which is told. */
const BUDGET_MS = 10_000
/** Above the time limit of a submit: nobody else sends an intent while its call may be under way. */
const LEASE_MS = 120_000

/**
 * Sends pending intents, oldest first and no faster than allowed. Each submitter has one call in flight, so
 * that one which hangs holds up no other intent. Any number of workers share them: each intent is leased for its try.
 */
export function makeSubmitters(
  deps: SubmitDeps & { readonly events: Events },
  rules: SubmitterRules,
): Service[] {
  const rate = makeRate(rules.perSecond)
  return Array.from({ length: rules.concurrency }, () => ({
    name: 'submitter',
    everyMs: EVERY_MS,
    async runOnce(signal) {
      const report = { submitted: 0, pending: 0, refused: 0 }
      const end = performance.now() + BUDGET_MS
      // The turn before the lease: a leased intent should not wait for one.
      while (performance.now() < end && rate.pausedMs() === 0 && (await rate.take(signal))) {
        const tried = await submitNext(deps, { ...rules, leaseMs: LEASE_MS })
        if (tried === null) return report
        rate.pause(tried.pauseMs)
        if (tried.outcome === 'submitted') report.submitted++
        else if (tried.outcome === 'pending') report.pending++
        else report.refused++
        deps.events.emit('intent:tried', tried)
      }
      return report
    },
  }))
}
