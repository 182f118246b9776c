import { randomBytes } from 'node:crypto'
import { parseEnvelope } from '@sume-inbox/shared/envelope'
import {
  claimEvent,
  type Lease,
  type Ledger,
  recordDelivery,
  settleDead,
} from '@sume-inbox/shared/ledger'

/** Records a delivery as the receiver does. */
export async function record(ledger: Ledger, raw: Buffer): Promise<void> {
  const parsed = parseEnvelope(raw)
  if (!parsed.readable) throw new Error(parsed.reason)
  await recordDelivery(ledger, {
    envelope: parsed.envelope,
    raw,
    source: 'webhook',
    graceMs: 60_000,
  })
}

export async function claim(ledger: Ledger, dedupeKey: string, worker = 'w1'): Promise<Lease> {
  const lease = { dedupeKey, token: randomBytes(16), attempt: 1 }
  const { token } = lease
  const taken = await claimEvent(ledger, {
    dedupeKey,
    token,
    leaseMs: 60_000,
    maxAttempts: 5,
    worker,
  })
  if (!taken) throw new Error(`${dedupeKey} cannot be claimed`)
  return lease
}

export async function die(ledger: Ledger, dedupeKey: string, error: string): Promise<void> {
  await settleDead(ledger, await claim(ledger, dedupeKey), error)
}
