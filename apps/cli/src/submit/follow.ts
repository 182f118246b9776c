import { setTimeout as sleep } from 'node:timers/promises'
import {
  type EventSummary,
  findEvents,
  type IntentSummary,
  type Ledger,
  readIntent,
} from '@sume-inbox/shared/ledger'

/** How far a submit has come. */
export interface Progress {
  readonly intent: IntentSummary
  readonly event: EventSummary | null
}

/** Whether it goes no further by itself, and whether that is good. */
export const endOf = ({ intent, event }: Progress): 'good' | 'bad' | null => {
  if (event !== null)
    return event.state === 'claimed' ? null : event.state === 'done' ? 'good' : 'bad'
  return intent.state === 'pending' || intent.state === 'submitted' ? null : 'bad'
}

const EVERY_MS = 250

/**
 * Watches an intent until it goes no further, the time is over or the signal aborts.
 *
 * @param told is told of every step, once.
 */
export async function follow(
  ledger: Ledger,
  key: string,
  options: { untilMs: number; signal: AbortSignal; told: (step: string) => void },
): Promise<Progress> {
  const end = performance.now() + options.untilMs
  let said = ''
  for (;;) {
    const progress = await look(ledger, key)
    const step = stepOf(progress)
    if (step !== said) options.told(step)
    said = step
    if (endOf(progress) !== null || options.signal.aborted || performance.now() > end)
      return progress
    await sleep(EVERY_MS, undefined, { signal: options.signal }).catch(() => undefined)
  }
}

async function look(ledger: Ledger, key: string): Promise<Progress> {
  const intent = await readIntent(ledger, key)
  if (intent === null) throw new Error(`the intent ${key} was deleted`)
  const [event] = intent.sume_id === null ? [] : await findEvents(ledger, intent.sume_id)
  return { intent, event: event ?? null }
}

function stepOf({ intent, event }: Progress): string {
  if (event !== null) {
    const tried = event.attempts > 1 ? `, attempt ${event.attempts}` : ''
    return `${event.event} by ${event.source}, ${event.state}${tried}`
  }
  const error = intent.last_error === null ? '' : `: ${intent.last_error}`
  return `${intent.state}${intent.sume_id === null ? '' : ` as ${intent.sume_id}`}${error}`
}
