import { discard, type FollowUp, type FollowUpLog, snooze } from '@sume-inbox/shared/follow-ups'
import type { ClaimedEvent, Ledger, Lease } from '@sume-inbox/shared/ledger'
import { DeadlineError, toError, withDeadline } from '@sume-inbox/shared/runtime'
import { openCompletion } from './completion.ts'
import { followUpEvent } from './follow-up-event.ts'
import { keepLease } from './renewal.ts'

export interface Attempt {
  readonly ledger: Ledger
  readonly followUp: FollowUp
  readonly lease: Lease
  readonly row: ClaimedEvent
  readonly log: FollowUpLog
  readonly maxAttempts: number
  readonly leaseMs: number
  readonly timeoutMs: number
  /** Aborts when the process is about to end. */
  readonly stopping: AbortSignal
  readonly onLeaseLost: () => void
  readonly onError: (error: Error) => void
}

/** How a follow-up ended, before the ledger knows. `completeCalled`: whether `done` may be there already. */
export type Ended = { readonly completeCalled: boolean } & (
  | { readonly how: 'committed' }
  | { readonly how: 'returned'; readonly value: unknown }
  | { readonly how: 'threw'; readonly error: unknown }
)

/**
 * Runs the follow-up under its lease, and stops waiting for it at the time limit or when the lease is
 * lost, whether it heeds its signal or not: one that hangs must not hold its slot for ever.
 */
export async function perform(attempt: Attempt): Promise<Ended> {
  const { ledger, lease, timeoutMs, stopping, onError } = attempt
  const aborter = new AbortController()
  const completion = openCompletion(ledger, lease, (error) => onError(toError(error)))
  const lost = Promise.withResolvers<never>()
  const renewal = keepLease({
    ...attempt,
    ...lease,
    paused: () => completion.state() === 'running' || completion.state() === 'committed',
    onLost: () => {
      const error = new Error('the lease is lost to another attempt')
      lost.reject(error)
      aborter.abort(error)
      attempt.onLeaseLost()
    },
  })
  const stop = () => aborter.abort(stopping.reason)
  stopping.addEventListener('abort', stop)
  if (stopping.aborted) stop()
  try {
    const followUp = call(attempt, aborter.signal, completion)
    const limited = withDeadline(followUp, timeoutMs, 'the follow-up')
    const value = await Promise.race([limited, lost.promise])
    return ended({ how: 'returned', value })
  } catch (error) {
    if (error instanceof DeadlineError) aborter.abort(error)
    return ended({ how: 'threw', error })
  } finally {
    renewal.stop()
    stopping.removeEventListener('abort', stop)
    lost.promise.catch(() => undefined)
  }

  function ended(
    how: { how: 'returned'; value: unknown } | { how: 'threw'; error: unknown },
  ): Ended {
    const completeCalled = completion.state() !== 'unused'
    // After `complete` has committed, the event is done, whatever the follow-up did next.
    if (completion.state() === 'committed') return { completeCalled, how: 'committed' }
    return { completeCalled, ...how }
  }
}

async function call(
  { followUp, lease, row, log, maxAttempts }: Attempt,
  signal: AbortSignal,
  completion: ReturnType<typeof openCompletion>,
): Promise<unknown> {
  const value = await followUp(followUpEvent(lease.dedupeKey, row), {
    attempt: row.attempts,
    maxAttempts,
    signal,
    log,
    complete: (work) => completion.complete(work),
    snooze,
    discard,
  })
  // A `complete` that the follow-up did not wait for still decides how the attempt ends.
  if (completion.state() === 'running') await completion.ended()
  return value
}
