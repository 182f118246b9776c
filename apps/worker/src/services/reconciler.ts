import {
  reconcileDue,
  type ReconcileDeps,
  type ReconcileReport,
  type ReconcileRules,
} from '@sume-inbox/shared/intents'
import type { Restorer } from '@sume-inbox/shared/queues'
import { makeRate, type Service, toError } from '@sume-inbox/shared/runtime'
import type { Events } from '@sume-inbox/shared/telemetry'

export interface ReconcilerDeps extends Pick<ReconcileDeps, 'ledger' | 'client'> {
  readonly restorer: Pick<Restorer, 'restore'>
  readonly events: Events
}

const EVERY_MS = 2000
/** Asked about side by side. */
const BATCH = 10

/** Asks Sume about submitted intents whose event does not come, so that nothing depends on a webhook. */
export function makeReconciler(
  { ledger, client, restorer, events }: ReconcilerDeps,
  rules: Omit<ReconcileRules, 'batch'> & { readonly perSecond: number },
): Service {
  const deps: ReconcileDeps = {
    ledger,
    client,
    rate: makeRate(rules.perSecond),
    told: (reconciled) => events.emit('intent:reconciled', reconciled),
    enqueue: (event) =>
      restorer.restore([event]).then(
        () => undefined,
        (error: unknown) => {
          // The event is committed: the sweeper adds its job.
          events.emit('enqueue:failed', { dedupeKey: event.dedupeKey, error: toError(error) })
        },
      ),
  }
  return {
    name: 'reconciler',
    everyMs: EVERY_MS,
    async runOnce(signal) {
      const report: ReconcileReport = await reconcileDue(deps, { ...rules, batch: BATCH }, signal)
      return { ...report }
    },
  }
}
