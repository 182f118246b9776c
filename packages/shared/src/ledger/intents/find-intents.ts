import type { Kind } from '../../envelope/index.ts'
import type { Db } from '../db.ts'
import { rows } from '../rows.ts'
import { INTENT_COLUMNS, type IntentState, type IntentSummary } from './intent.ts'

/** The intent with this key. */
export async function readIntent(db: Db, key: string): Promise<IntentSummary | null> {
  const [found] = await rows<IntentSummary>(
    db,
    `SELECT ${INTENT_COLUMNS} FROM sume_intents WHERE idempotency_key = ?`,
    [key],
  )
  return found ?? null
}

/** The keys that stand next to `key` in their order, 50 on each side: what somebody may have meant. */
export async function neighbouringKeys(db: Db, key: string): Promise<string[]> {
  const found = await rows<{ k: string }>(
    db,
    `(SELECT idempotency_key AS k FROM sume_intents WHERE idempotency_key >= ? ORDER BY idempotency_key LIMIT 50)
     UNION (SELECT idempotency_key FROM sume_intents WHERE idempotency_key < ? ORDER BY idempotency_key DESC LIMIT 50)`,
    [key, key],
  )
  return found.map((row) => row.k)
}

/** The intent behind a job or run. */
export async function findIntent(db: Db, sumeId: string): Promise<IntentSummary | null> {
  const [found] = await rows<IntentSummary>(
    db,
    `SELECT ${INTENT_COLUMNS} FROM sume_intents WHERE sume_id = ?`,
    [sumeId],
  )
  return found ?? null
}

/** The body that every try sends. It carries a prompt. */
export async function readIntentBody(db: Db, key: string): Promise<string | null> {
  const [found] = await rows<{ body: string }>(
    db,
    'SELECT body FROM sume_intents WHERE idempotency_key = ?',
    [key],
  )
  return found?.body ?? null
}

/** Intents, those that were made last first. */
export const listIntents = (
  db: Db,
  options: { state?: IntentState; limit: number },
): Promise<IntentSummary[]> =>
  rows<IntentSummary>(
    db,
    `SELECT ${INTENT_COLUMNS} FROM sume_intents WHERE state = COALESCE(?, state)
      ORDER BY created_at DESC, idempotency_key LIMIT ?`,
    [options.state ?? null, String(options.limit)],
  )

/** How many intents are in one state, and the age of the oldest in seconds; 0 where there is none. */
export interface IntentCount {
  readonly state: IntentState
  readonly intents: number
  readonly oldestS: number
}

const UNSETTLED = ['pending', 'submitted', 'conflict', 'rejected', 'lost'] as const

/** Counts the intents whose event has not come. Settled ones are not counted: there are more of them every day. */
export async function countUnsettledIntents(db: Db): Promise<IntentCount[]> {
  const counted = await rows<IntentCount>(
    db,
    `SELECT state, COUNT(*) AS intents, TIMESTAMPDIFF(SECOND, MIN(created_at), NOW(3)) AS oldestS
       FROM sume_intents WHERE state IN ('pending', 'submitted', 'conflict', 'rejected', 'lost') GROUP BY state`,
    [],
  )
  return UNSETTLED.map(
    (state) => counted.find((row) => row.state === state) ?? { state, intents: 0, oldestS: 0 },
  )
}

/** An event that no intent is behind: submitted by something that does not write intents. */
export interface EventWithoutIntent {
  readonly dedupe_key: string
  readonly kind: Kind
  readonly sume_id: string
  readonly event: string
  readonly first_seen: Date
}

/** Events without an intent, the latest first. Reads events from the newest on until `limit` are found. */
export const listEventsWithoutIntent = (db: Db, limit: number): Promise<EventWithoutIntent[]> =>
  rows<EventWithoutIntent>(
    db,
    `SELECT e.dedupe_key, e.kind, e.sume_id, e.event, e.first_seen FROM sume_events e
      WHERE NOT EXISTS (SELECT 1 FROM sume_intents i WHERE i.sume_id = e.sume_id)
      ORDER BY e.first_seen DESC LIMIT ?`,
    [String(limit)],
  )

/** Submitted or lost intents that have no event, the oldest first. */
export const listIntentsWithoutEvent = (db: Db, limit: number): Promise<IntentSummary[]> =>
  rows<IntentSummary>(
    db,
    `SELECT ${INTENT_COLUMNS} FROM sume_intents i
      WHERE i.state IN ('submitted', 'lost') AND NOT EXISTS (SELECT 1 FROM sume_events e WHERE e.sume_id = i.sume_id)
      ORDER BY i.created_at LIMIT ?`,
    [String(limit)],
  )
