import { type Envelope, parseEnvelope } from '@sume-inbox/shared/envelope'
import {
  isUnavailable,
  type Ledger,
  recordDelivery,
  recordRunWebhook,
} from '@sume-inbox/shared/ledger'
import type { Enqueued, Producer } from '@sume-inbox/shared/queues'
import { toError } from '@sume-inbox/shared/runtime'
import type { Events } from '@sume-inbox/shared/telemetry'
import type { Quarantine } from './quarantine.ts'
import type { Receipt } from './receipt.ts'
import { refuseSignature, type SignatureHeaders, type SignatureRules } from './signature.ts'

/** One request that Sume made, before anything is believed about it. */
export interface Delivery {
  readonly body: Buffer
  readonly headers: SignatureHeaders
  /** When it was all there, in milliseconds since 1970. */
  readonly at: number
}

export interface ReceiveDeps {
  readonly ledger: Ledger
  readonly quarantine: Quarantine
  readonly producer: Pick<Producer, 'enqueue'>
  readonly events: Events
  readonly rules: SignatureRules & { readonly graceMs: number }
}

/**
 * The way of a delivery: verify, read, record, enqueue, receipt. A receipt other than `unavailable`
 * means that what it says is committed.
 *
 * @throws only for our own bugs; what cannot be done now is the receipt `unavailable`.
 */
export async function receive(deps: ReceiveDeps, delivery: Delivery): Promise<Receipt> {
  // Whole seconds, like the timestamp's: otherwise the last of them would be out of tolerance.
  const now = Math.floor(delivery.at / 1000)
  const refusal = refuseSignature(delivery.body, delivery.headers, deps.rules, now)
  if (refusal !== null) return { receipt: 'unsigned', note: refusal }

  const read = parseEnvelope(delivery.body)
  try {
    if (!read.readable) {
      // It is signed, so it matters; and asking Sume to repeat it would not make it readable.
      await deps.quarantine.keep(delivery.body, read.reason)
      return { receipt: 'quarantined', note: read.reason }
    }

    const { envelope } = read
    const { recorded, dedupeKey } = await record(deps, envelope, delivery.body)
    const { event } = envelope
    const odd = read.odd === undefined ? {} : { note: read.odd }
    if (recorded === 'duplicate')
      return { receipt: 'duplicate', dedupeKey, event, enqueued: false, ...odd }
    return {
      receipt: 'accepted',
      dedupeKey,
      event,
      enqueued: await enqueue(deps, envelope),
      ...odd,
    }
  } catch (error) {
    if (!isUnavailable(error)) throw error
    return { receipt: 'unavailable', error: toError(error) }
  }
}

/** Only a run pays for a transaction: its webhook may have to meet a row that a poll made under another key. */
async function record(
  { ledger, rules: { graceMs } }: ReceiveDeps,
  envelope: Envelope,
  body: Buffer,
): Promise<{ recorded: 'first' | 'duplicate'; dedupeKey: string }> {
  if (envelope.kind === 'run') {
    return ledger.inTransaction((tx) => recordRunWebhook(tx, { envelope, body, graceMs }))
  }
  const recorded = await recordDelivery(ledger, { envelope, raw: body, source: 'webhook', graceMs })
  return { recorded, dedupeKey: envelope.dedupeKey }
}

/** The row is committed, so a failure here costs latency and never the event: the sweeper adds the job. */
async function enqueue({ producer, events }: ReceiveDeps, event: Enqueued): Promise<boolean> {
  try {
    await producer.enqueue(event)
    return true
  } catch (error) {
    events.emit('enqueue:failed', { dedupeKey: event.dedupeKey, error: toError(error) })
    return false
  }
}
