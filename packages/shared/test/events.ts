import { randomBytes, randomUUID } from 'node:crypto'
import {
  type Claim,
  claimEvent,
  type Db,
  type Lease,
  type Ledger,
  recordDelivery,
} from '@sume-inbox/shared/ledger'
import type { Envelope } from '@sume-inbox/shared/envelope'

/** A job's envelope with an id of its own. */
export function jobEnvelope(fields: Partial<Envelope> = {}): Envelope {
  const jobId = fields.dedupeKey ?? `job_${randomUUID()}`
  return {
    dedupeKey: jobId,
    kind: 'job',
    sumeId: jobId,
    requestId: jobId,
    event: 'job.completed',
    status: 'OK',
    ...fields,
  }
}

/** Records one delivery of an event. */
export const deliverTo = (
  db: Db,
  envelope: Envelope,
  options: { raw?: Buffer; source?: 'webhook' | 'poll'; graceMs?: number } = {},
): Promise<'first' | 'duplicate'> =>
  recordDelivery(db, {
    envelope,
    raw: options.raw ?? Buffer.from('{}'),
    source: options.source ?? 'webhook',
    graceMs: options.graceMs ?? 15_000,
  })

/** Records a new event. @returns its dedupe key. */
export async function newEvent(db: Db, fields: Partial<Envelope> = {}): Promise<string> {
  const envelope = jobEnvelope(fields)
  await deliverTo(db, envelope)
  return envelope.dedupeKey
}

export interface EventRow {
  readonly dedupe_key: string
  readonly state: 'claimed' | 'done' | 'dead'
  readonly attempts: number
  readonly snoozes: number
  readonly deliveries: number
  readonly diverged: number
  readonly status: 'OK' | 'ERROR'
  readonly payload: string
  readonly last_error: string | null
  readonly lease_token: Buffer | null
  readonly leased_until: Date | null
  readonly due_at: Date
  readonly done_at: Date | null
  readonly sume_id: string
  readonly request_id: string | null
  readonly source: string
}

/** Any rows that a test wants to look at. */
export async function select<Row>(db: Db, sql: string, values: string[] = []): Promise<Row[]> {
  const [rows] = await db.query(sql, values)
  return rows as Row[]
}

export async function eventRow(db: Db, key: string): Promise<EventRow> {
  const [row] = await select<EventRow>(db, 'SELECT * FROM sume_events WHERE dedupe_key = ?', [key])
  if (row === undefined) throw new Error(`there is no event ${key}`)
  return row
}

/** Lets the event's lease run out, as if its time had passed. */
export async function lapse(db: Db, key: string): Promise<void> {
  await db.query(
    'UPDATE sume_events SET leased_until = NOW(3) - INTERVAL 1 SECOND WHERE dedupe_key = ?',
    [key],
  )
}

export interface Attempt extends Lease {
  readonly claimed: boolean
}

/** Claims an event with a new token. */
export async function claim(
  ledger: Ledger,
  key: string,
  options: Partial<Claim> & { attempt?: number } = {},
): Promise<Attempt> {
  const token = randomBytes(16)
  const claimed = await claimEvent(ledger, {
    dedupeKey: key,
    token,
    leaseMs: 30_000,
    maxAttempts: 3,
    worker: 'test-worker',
    ...options,
  })
  return { dedupeKey: key, token, attempt: options.attempt ?? 1, claimed }
}

/** A line of EXPLAIN. */
export interface Plan {
  readonly type: string
  readonly key: string
  readonly key_len: string
  readonly Extra: string | null
}

/** How the server would carry out a statement. */
export async function planOf(db: Db, sql: string): Promise<Plan> {
  // MySQL draws a tree by default, and MariaDB has no other form than this one.
  const [server] = await select<{ version: string }>(db, 'SELECT VERSION() AS version')
  const form = server?.version.includes('MariaDB') ? '' : 'FORMAT=TRADITIONAL'
  const [plan] = await select<Plan>(db, `EXPLAIN ${form} ${sql}`)
  if (plan === undefined) throw new Error('no plan')
  return plan
}
