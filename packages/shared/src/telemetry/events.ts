import { EventEmitter } from 'node:events'
import type { Reconciled, Submitted } from '../intents/index.ts'
import type { Report, ServiceObserver } from '../runtime/index.ts'
import type { SumeError } from '../sume/index.ts'
import type { Readiness } from './probes.ts'

/**
 * What happens inside the processes, by name. Code says it once; logs, metrics and tests subscribe.
 * No event carries a body: bodies hold prompts.
 */
export interface InboxEvents {
  /** The receiver answered a delivery. `enqueued` is set for first deliveries only; `failed` is our own bug. */
  'delivery:answered': [
    {
      receipt: 'accepted' | 'duplicate' | 'quarantined' | 'unsigned' | 'unavailable' | 'failed'
      status: number
      durationMs: number
      dedupeKey?: string
      event?: string
      /** Why it was refused or quarantined, or what was odd about it. */
      note?: string
      enqueued?: boolean
      error?: Error
    },
  ]
  /** A job could not be put into the queue; the sweeper will. */
  'enqueue:failed': [{ dedupeKey: string; error: Error }]
  'attempt:started': [{ dedupeKey: string; event: string; attempt: number; worker: string }]
  /** An attempt ended. `refused`: the ledger did not let it start, or its lease was gone when it ended. */
  'attempt:settled': [
    {
      dedupeKey: string
      event: string
      attempt: number
      worker: string
      outcome: 'done' | 'retry' | 'dead' | 'snooze' | 'lost'
      durationMs: number
      error?: string
      /** Milliseconds until the next attempt, for `retry` and `snooze`. */
      delayMs?: number
    },
  ]
  'attempt:refused': [{ dedupeKey: string; because: string; worker: string }]
  'lease:lost': [{ dedupeKey: string; attempt: number; worker: string }]
  /** The sweeper put a lost event back, and what had become of its job. */
  'event:swept': [{ dedupeKey: string; lost: 'missing' | 'failed' | 'completed' | 'orphan' }]
  /** The submitter has sent an intent, or has tried to. */
  'intent:tried': [Submitted]
  /** The reconciler has asked about an intent. */
  'intent:reconciled': [Reconciled]
  /** A call to Sume failed. */
  'sume:failed': [SumeError]
  'service:ran': [{ service: string; report: Report; durationMs: number }]
  'service:failed': [{ service: string; error: Error; durationMs: number }]
  /** The process can work now, or cannot any more, and why. */
  'readiness:changed': [Readiness]
  /** A connection or library reported trouble that no caller was waiting for. */
  'background:error': [{ where: string; error: Error }]
}

export type Events = EventEmitter<InboxEvents>

export const makeEvents = (): Events => new EventEmitter<InboxEvents>()

/** Tells a service's runs as events. */
export const observeServices = (events: Events): ServiceObserver => ({
  ran: (run) => events.emit('service:ran', run),
  failed: (run) => events.emit('service:failed', run),
})
