import { randomBytes } from 'node:crypto'
import { findFollowUp, type FollowUps } from '@sume-inbox/shared/follow-ups'
import {
  claimEvent,
  type ClaimedEvent,
  exhaustEvent,
  type Lease,
  type Ledger,
  readClaimed,
  readStanding,
} from '@sume-inbox/shared/ledger'
import { elapsedMs } from '@sume-inbox/shared/runtime'
import type { Events, Logger } from '@sume-inbox/shared/telemetry'
import { perform } from './attempt/perform.ts'
import { giveUp, settle, type Settled, type SettleSettings } from './attempt/settle.ts'
import type { Verdict } from './verdict.ts'

export interface ProcessorDeps {
  readonly ledger: Ledger
  readonly followUps: FollowUps
  readonly events: Events
  readonly log: Logger
  /** Aborts when the process is about to end. */
  readonly stopping: AbortSignal
}

export interface ProcessorSettings extends SettleSettings {
  /** This process, for people: printable ASCII. */
  readonly worker: string
  readonly leaseMs: number
  readonly timeoutMs: number
}

/**
 * Runs one attempt at an event: claim, follow-up, settle.
 *
 * @throws when MySQL is out of reach; the lease, if there is one, runs out by itself.
 */
export type Processor = (dedupeKey: string) => Promise<Verdict>

/** How much longer than the lease a refused job waits at most, so that not all come back at once. */
const JITTER_MS = 500

export function makeProcessor(deps: ProcessorDeps, settings: ProcessorSettings): Processor {
  const { ledger, events } = deps
  const { worker, maxAttempts } = settings

  return async function process(dedupeKey) {
    // Made before the claim and never read back: a worker that was frozen between claim and read
    // would find another worker's token in the row, and settle that one's attempt.
    const token = randomBytes(16)
    const row = await claim(dedupeKey, token)
    if (row === null) return refused(dedupeKey, token)
    const start = performance.now()
    const { event, attempts: attempt } = row
    events.emit('attempt:started', { dedupeKey, event, attempt, worker })
    const lease = { dedupeKey, token, attempt }
    const { settled, completeCalled } = await run(lease, row)
    if (settled.outcome !== 'lost') {
      report(dedupeKey, row, settled, start)
      return verdictOf(settled)
    }
    const committed = completeCalled && (await isDoneBy(lease))
    report(dedupeKey, row, committed ? { outcome: 'done' } : settled, start)
    return refused(dedupeKey, token)
  }

  /** Whether only the answer to this attempt's COMMIT was lost: the event is done, and no attempt came after it. */
  async function isDoneBy({ dedupeKey, token, attempt }: Lease): Promise<boolean> {
    const standing = await readStanding(ledger, dedupeKey, token)
    return standing?.state === 'done' && standing.attempts === attempt
  }

  async function claim(dedupeKey: string, token: Buffer): Promise<ClaimedEvent | null> {
    const { leaseMs } = settings
    const claimed = await claimEvent(ledger, { dedupeKey, token, leaseMs, maxAttempts, worker })
    return claimed ? readClaimed(ledger, dedupeKey, token) : null
  }

  async function run(lease: Lease, row: ClaimedEvent) {
    const followUp = findFollowUp(deps.followUps, row.event)
    if (followUp === null) {
      const reason = `no follow-up matches '${row.event}'; add an entry to the FOLLOW_UPS module, then replay the event`
      return { settled: await giveUp(ledger, lease, reason), completeCalled: false }
    }
    const { dedupeKey, attempt } = lease
    const ids = { dedupeKey, event: row.event, sumeId: row.sume_id, attempt }
    const ended = await perform({
      ...settings,
      ledger,
      followUp,
      lease,
      row,
      log: deps.log.child(ids),
      stopping: deps.stopping,
      onLeaseLost: () => events.emit('lease:lost', { dedupeKey, attempt, worker }),
      onError: (error) =>
        events.emit('background:error', { where: `attempt at ${dedupeKey}`, error }),
    })
    const { completeCalled } = ended
    return { settled: await settle(ledger, lease, ended, settings), completeCalled }
  }

  /** The ledger let nothing happen: what the job is to do depends on where the event stands. */
  async function refused(dedupeKey: string, token: Buffer): Promise<Verdict> {
    const exhausted = await exhaustEvent(ledger, dedupeKey, maxAttempts)
    const standing = exhausted ? null : await readStanding(ledger, dedupeKey, token)
    const say = (because: string) => events.emit('attempt:refused', { dedupeKey, because, worker })
    if (exhausted) {
      say('no attempts left; the event is dead now')
      return { verdict: 'dead', error: 'no attempts left' }
    }
    if (standing === null) {
      say('no such event')
      return { verdict: 'dead', error: 'no such event' }
    }
    switch (standing.state) {
      case 'done':
        say('done')
        return { verdict: 'completed' }
      case 'dead':
        say('dead')
        return { verdict: 'dead', error: 'dead; replay it' }
      case 'claimed':
        say('another attempt holds the event')
        return { verdict: 'delay', ms: standing.leaseLeftMs + Math.ceil(Math.random() * JITTER_MS) }
    }
  }

  function report(dedupeKey: string, row: ClaimedEvent, settled: Settled, start: number): void {
    const { event, attempts: attempt } = row
    const durationMs = elapsedMs(start)
    events.emit('attempt:settled', { dedupeKey, event, attempt, worker, durationMs, ...settled })
  }
}

function verdictOf(settled: Exclude<Settled, { outcome: 'lost' }>): Verdict {
  switch (settled.outcome) {
    case 'retry':
      return { verdict: 'retry', delayMs: settled.delayMs, error: settled.error }
    case 'dead':
      return { verdict: 'dead', error: settled.error }
    case 'snooze':
      return { verdict: 'delay', ms: settled.delayMs }
    case 'done':
      return { verdict: 'completed' }
  }
}
