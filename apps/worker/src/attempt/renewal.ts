import type { Ledger } from '@sume-inbox/shared/ledger'
import { renewLease } from '@sume-inbox/shared/ledger'
import { toError } from '@sume-inbox/shared/runtime'

export interface RenewalOptions {
  readonly ledger: Ledger
  readonly dedupeKey: string
  readonly token: Buffer
  readonly leaseMs: number
  /** No renewal begins later than this after the start: a follow-up that hangs must not keep its lease. */
  readonly timeoutMs: number
  /** Whether to leave a turn out, because the row is locked by the attempt itself. */
  readonly paused: () => boolean
  readonly onLost: () => void
  readonly onError: (error: Error) => void
}

/** Holds the lease while the follow-up runs: renews it every third of its time, one renewal after the other. */
export function keepLease(options: RenewalOptions): { stop(): void } {
  const end = performance.now() + options.timeoutMs
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const schedule = () => {
    timer = setTimeout(() => void turn(), options.leaseMs / 3)
  }
  const turn = async () => {
    if (performance.now() >= end) return
    try {
      if (!options.paused()) {
        const { ledger, dedupeKey, token, leaseMs } = options
        const held = await renewLease(ledger, dedupeKey, token, leaseMs)
        // `complete` may have ended the lease while this statement was under way.
        if (!held && !stopped && !options.paused()) return options.onLost()
      }
    } catch (error) {
      // MySQL is away or the row is locked. The token holds the event until another attempt takes it.
      options.onError(toError(error))
    }
    if (!stopped) schedule()
  }
  schedule()
  return {
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
