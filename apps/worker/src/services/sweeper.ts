import { leaseDue, type Ledger, stillClaimed } from '@sume-inbox/shared/ledger'
import type { Restorer } from '@sume-inbox/shared/queues'
import type { Service } from '@sume-inbox/shared/runtime'
import type { Events } from '@sume-inbox/shared/telemetry'

export interface SweeperDeps {
  readonly ledger: Ledger
  readonly restorer: Pick<Restorer, 'restore'>
  readonly events: Events
}

const BATCH = 100

/**
 * Finds claimed events whose time has passed, ERROR first, and puts back into the queue what the queue
 * lost. It only decides when an event is looked at again: it never sets one dead and never counts an
 * attempt, because what it saw in the queue may be over by the time it acts. The claim decides.
 */
export const makeSweeper = (deps: SweeperDeps, everyMs: number): Service => ({
  name: 'sweeper',
  everyMs,
  async runOnce(signal) {
    const end = performance.now() + everyMs
    const report = { due: 0, restored: 0 }
    let taken: number
    do {
      const due = await leaseDue(deps.ledger, BATCH, everyMs)
      // After the COMMIT: a slow Redis must not hold the rows' locks.
      const restored = await deps.restorer.restore(
        due.map((event) => ({ dedupeKey: event.dedupe_key, status: event.status })),
        (keys) => stillClaimed(deps.ledger, keys),
      )
      for (const event of restored) deps.events.emit('event:swept', event)
      taken = due.length
      report.due += taken
      report.restored += restored.length
    } while (taken === BATCH && !signal.aborted && performance.now() < end)
    return report
  },
})
