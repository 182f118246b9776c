import {
  type Db,
  type Lease,
  type Ledger,
  LedgerError,
  settleDoneWith,
} from '@sume-inbox/shared/ledger'

/** The `complete` of one attempt, and what became of it. */
export interface Completion {
  complete<T>(work: (tx: Db) => Promise<T>): Promise<T>
  /** `running`: its transaction holds the event's row. `failed`: rolled back, or nobody knows. */
  state(): 'unused' | 'running' | 'committed' | 'failed'
  /** Waits for a call under way; throws what it threw. */
  ended(): Promise<unknown>
}

export function openCompletion(
  ledger: Ledger,
  lease: Lease,
  onFailure: (error: unknown) => void,
): Completion {
  let state: ReturnType<Completion['state']> = 'unused'
  let call: Promise<unknown> | undefined

  const run = async <T>(work: (tx: Db) => Promise<T>): Promise<T> => {
    state = 'running'
    try {
      const result = await settleDoneWith(ledger, lease, work)
      state = 'committed'
      return result
    } catch (error) {
      state = 'failed'
      onFailure(error)
      throw error
    }
  }
  return {
    complete(work) {
      const running = call === undefined ? run(work) : Promise.reject(calledBefore(lease.dedupeKey))
      call ??= running
      // A follow-up that does not wait for it must not take the process down when it fails.
      running.catch(() => undefined)
      return running
    },
    state: () => state,
    ended: async () => call,
  }
}

const calledBefore = (dedupeKey: string) =>
  new LedgerError(
    'ALREADY_COMPLETED',
    `complete was called before in this attempt at ${dedupeKey}; put all writes into one call`,
  )
