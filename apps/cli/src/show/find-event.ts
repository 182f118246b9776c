import {
  type EventSummary,
  findByAnyId,
  findByRequestId,
  findEvents,
  findIntent,
  type IntentSummary,
  type Ledger,
  neighbouringIds,
  neighbouringKeys,
  readIntent,
} from '@sume-inbox/shared/ledger'
import { DeadlineError } from '@sume-inbox/shared/runtime'
import { CommandError } from '../cli.ts'
import { didYouMean } from '../nearest.ts'

/** An idempotency key's form, the longest of all ids. */
const FORM = /^[\x21-\x7e]{1,255}$/

/** What an id names: events, and the intent behind them, either of which may be missing. */
export interface Found {
  readonly events: EventSummary[]
  readonly intent: IntentSummary | null
}

/**
 * The events and the intent that an id of any kind names.
 *
 * @throws CommandError with the nearest id that is there, when it names none.
 */
export async function findAny(ledger: Ledger, id: string): Promise<Found> {
  if (!FORM.test(id)) {
    throw new CommandError(
      'expected an id: a dedupe key, job_id, run_id, request_id or idempotency key, of 1 to 255 printable ASCII characters without spaces',
    )
  }
  const events = await findByAnyId(ledger, id)
  const [event] = events
  if (event !== undefined) return { events, intent: await findIntent(ledger, event.sume_id) }
  const intent = (await readIntent(ledger, id)) ?? (await findIntent(ledger, id))
  if (intent !== null) {
    const { sume_id: sumeId } = intent
    return { intent, events: sumeId === null ? [] : await findEvents(ledger, sumeId) }
  }
  const asked = await findByRequestId(ledger, id).catch((error: unknown) => {
    if (error instanceof DeadlineError) return null
    throw error
  })
  const [found] = asked ?? []
  if (found !== undefined)
    return { events: asked ?? [], intent: await findIntent(ledger, found.sume_id) }
  const near = [...(await neighbouringIds(ledger, id)), ...(await neighbouringKeys(ledger, id))]
  const unsure = asked === null ? ' (the ledger is too large to look for it among request ids)' : ''
  throw new CommandError(
    `no event has the dedupe key, job_id, run_id or request_id ${id}, and no intent this key${unsure}${didYouMean(id, near)}`,
  )
}

/** The events that an id of any kind names. @throws CommandError when there is none. */
export async function findEvent(ledger: Ledger, id: string): Promise<EventSummary[]> {
  const { events, intent } = await findAny(ledger, id)
  if (events.length > 0) return events
  throw new CommandError(`the intent ${intent?.idempotency_key ?? id} has no event yet`)
}
