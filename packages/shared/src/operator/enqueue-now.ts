import type { Ledger } from '../ledger/index.ts'
import type { Enqueued, Restorer } from '../queues/index.ts'

/** What an operator's action works on. */
export interface OperatorDeps {
  readonly ledger: Ledger
  readonly restorer: Pick<Restorer, 'restore'>
}

/**
 * Puts events that are claimed again into the queue at once. Where Redis cannot take them they are due
 * already, so the next sweep does it: nothing is lost, and the action has not failed.
 *
 * @returns whether Redis took them.
 */
export async function enqueueNow(
  { restorer }: OperatorDeps,
  events: readonly Enqueued[],
): Promise<boolean> {
  try {
    await restorer.restore(events)
    return true
  } catch {
    return false
  }
}
