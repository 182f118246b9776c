import type { Db } from './db.ts'
import { rows } from './rows.ts'

/** Where an event stands, after a statement on it was refused. */
export interface Standing {
  readonly state: 'claimed' | 'done' | 'dead'
  /** What is left of a lease by MySQL's clock, in milliseconds: a delay made of it needs no clock of ours. */
  readonly leaseLeftMs: number
  readonly attempts: number
  readonly snoozes: number
  /** Whether `token` holds the event. */
  readonly held: boolean
}

/** @returns `null` when there is no such event. */
export async function readStanding(
  db: Db,
  dedupeKey: string,
  token: Buffer,
): Promise<Standing | null> {
  const [row] = await rows<{
    state: Standing['state']
    left_ms: string | number | null
    attempts: number
    snoozes: number
    held: number | null
  }>(
    db,
    `SELECT state, GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(3), leased_until) DIV 1000) AS left_ms, attempts, snoozes, lease_token = ? AS held
       FROM sume_events WHERE dedupe_key = ?`,
    [token, dedupeKey],
  )
  if (row === undefined) return null
  return {
    state: row.state,
    leaseLeftMs: Number(row.left_ms ?? 0),
    attempts: row.attempts,
    snoozes: row.snoozes,
    held: row.held === 1,
  }
}
