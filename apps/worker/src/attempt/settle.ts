import { isOutcome, snooze } from '@sume-inbox/shared/follow-ups'
import {
  type Lease,
  type Ledger,
  readStanding,
  settleDead,
  settleDone,
  settleRetry,
  settleSnooze,
} from '@sume-inbox/shared/ledger'
import { type Backoff, backoffMs, errorText } from '@sume-inbox/shared/runtime'
import type { Ended } from './perform.ts'

export interface SettleSettings {
  readonly maxAttempts: number
  readonly maxSnoozes: number
  readonly graceMs: number
  readonly backoff: Backoff
}

/** What the ledger took as the attempt's end. `lost`: it took nothing, because the lease is not ours any more. */
export type Settled =
  | { readonly outcome: 'done' }
  | { readonly outcome: 'lost' }
  | { readonly outcome: 'retry'; readonly error: string; readonly delayMs: number }
  | { readonly outcome: 'dead'; readonly error: string }
  | { readonly outcome: 'snooze'; readonly delayMs: number }

/** An error may be as long as its thrower likes; people read the beginning. */
const MAX_ERROR_CHARS = 4000

/** Tells the ledger how the attempt ended. */
export async function settle(
  ledger: Ledger,
  lease: Lease,
  ended: Ended,
  settings: SettleSettings,
): Promise<Settled> {
  if (ended.how === 'committed') return { outcome: 'done' }
  if (ended.how === 'threw') return settleThrow(ledger, lease, ended.error, settings)
  const { value } = ended
  if (!isOutcome(value)) return (await settleDone(ledger, lease)) ? { outcome: 'done' } : LOST
  if (value.outcome === 'discard') return giveUp(ledger, lease, bounded(value.reason))
  return settlePostponed(ledger, lease, value.ms, settings)
}

/** Sets the event dead now, whatever attempts are left. */
export async function giveUp(ledger: Ledger, lease: Lease, error: string): Promise<Settled> {
  return (await settleDead(ledger, lease, error)) ? { outcome: 'dead', error } : LOST
}

async function settleThrow(
  ledger: Ledger,
  lease: Lease,
  thrown: unknown,
  { maxAttempts, backoff, graceMs }: SettleSettings,
): Promise<Settled> {
  const error = bounded(thrown)
  if (lease.attempt >= maxAttempts) return giveUp(ledger, lease, error)
  const delayMs = backoffMs(lease.attempt, backoff)
  const settled = await settleRetry(ledger, lease, { error, backoffMs: delayMs, graceMs })
  return settled ? { outcome: 'retry', error, delayMs } : LOST
}

async function settlePostponed(
  ledger: Ledger,
  lease: Lease,
  asked: number,
  settings: SettleSettings,
): Promise<Settled> {
  const { graceMs, maxSnoozes } = settings
  let ms: number
  try {
    // An outcome made by hand may carry anything.
    ms = (snooze(asked) as { ms: number }).ms
  } catch (error) {
    return settleThrow(ledger, lease, error, settings)
  }
  if (await settleSnooze(ledger, lease, { ms, graceMs, maxSnoozes }))
    return { outcome: 'snooze', delayMs: ms }
  const standing = await readStanding(ledger, lease.dedupeKey, lease.token)
  if (standing?.held !== true) return LOST
  const spent = new Error(`snoozed ${standing.snoozes} times, which is the most allowed`)
  return settleThrow(ledger, lease, spent, settings)
}

const LOST: Settled = { outcome: 'lost' }

function bounded(thrown: unknown): string {
  const said = errorText(thrown)
  return said.length <= MAX_ERROR_CHARS ? said : `${said.slice(0, MAX_ERROR_CHARS - 1)}…`
}
