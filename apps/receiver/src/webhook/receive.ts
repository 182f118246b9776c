import { parseEnvelope } from '@sume-inbox/shared/envelope'
import {
  isUnavailable,
  type Ledger,
  quarantineBody,
  recordDelivery,
  trimQuarantine,
} from '@sume-inbox/shared/ledger'
import type { Enqueued, Producer } from '@sume-inbox/shared/queues'
import { toError } from '@sume-inbox/shared/runtime'
import type { Events } from '@sume-inbox/shared/telemetry'
import type { Receipt } from './receipt.ts'
import { refuseSignature, type SignatureHeaders, type SignatureRules } from './signature.ts'

/** One request that Sume made, before anything is believed about it. */
export interface Delivery {
  readonly body: Buffer
  readonly headers: SignatureHeaders
}

export interface ReceiveDeps {
  readonly ledger: Ledger
  readonly producer: Producer
  readonly events: Events
  readonly rules: SignatureRules & { readonly graceMs: number; readonly quarantineMaxRows: number }
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * The way of a delivery: verify, read, record, enqueue, receipt. A receipt other than `unavailable`
 * means that what it says is committed.
 *
 * @throws only for our own bugs; what cannot be done now is the receipt `unavailable`.
 */
export async function receive(deps: ReceiveDeps, delivery: Delivery): Promise<Receipt> {
  const refusal = refuseSignature(delivery.body, delivery.headers, deps.rules, deps.now() / 1000)
  if (refusal !== null) return { receipt: 'unsigned', note: refusal }

  const read = parseEnvelope(delivery.body)
  try {
    if (!read.readable) return await quarantine(deps, delivery.body, read.reason)

    const { envelope } = read
    const recorded = await recordDelivery(deps.ledger, {
      envelope,
      raw: delivery.body,
      source: 'webhook',
      graceMs: deps.rules.graceMs,
    })
    const { dedupeKey, event } = envelope
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

/** It is signed, so it matters; and asking Sume to repeat it would not make it readable. */
async function quarantine(
  { ledger, rules }: ReceiveDeps,
  body: Buffer,
  reason: Parameters<typeof quarantineBody>[2],
): Promise<Receipt> {
  const isNew = await quarantineBody(ledger, body, reason)
  if (isNew) await trimQuarantine(ledger, rules.quarantineMaxRows)
  return { receipt: 'quarantined', note: reason }
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
