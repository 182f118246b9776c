import { deleteEmptied, emptyPayloads, type Ledger } from '@sume-inbox/shared/ledger'
import type { Service } from '@sume-inbox/shared/runtime'

/** How long things are kept, in days. */
export interface Retention {
  readonly payloadDays: number
  /** `undefined`: keys stay for ever. */
  readonly keyDays: number | undefined
}

/** Small, so that no delivery waits for its locks. */
const BATCH = 100
const EVERY_MS = 60_000
/** One run's share of its interval: a backlog of years is worked off over many runs. */
const BUDGET_MS = 10_000

/**
 * Empties the payloads of old done events, and deletes their keys when even these are too old. Dead
 * events are never touched: a person has not looked at them yet.
 */
export const makeReaper = (ledger: Ledger, retention: Retention): Service => ({
  name: 'reaper',
  everyMs: EVERY_MS,
  async runOnce(signal) {
    const end = performance.now() + BUDGET_MS
    const inBatches = async (reap: () => Promise<number>) => {
      let reaped = 0
      for (;;) {
        const batch = await reap()
        reaped += batch
        if (batch < BATCH || signal.aborted || performance.now() > end) return reaped
      }
    }
    const { payloadDays, keyDays } = retention
    return {
      emptied: await inBatches(() => emptyPayloads(ledger, payloadDays, BATCH)),
      deleted:
        keyDays === undefined ? 0 : await inBatches(() => deleteEmptied(ledger, keyDays, BATCH)),
    }
  },
})
