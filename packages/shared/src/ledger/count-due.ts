import type { Db } from './db.ts'
import { rows } from './rows.ts'

/** How far behind the work is: claimed events whose time has passed. */
export interface Lag {
  readonly due: number
  /** How long the one that is due longest has been so, in seconds; 0 where none is. */
  readonly longestS: number
}

/** Counts the claimed events that are due, along the index that the sweep uses. */
export async function countDue(db: Db): Promise<Lag> {
  const [row] = await rows<{ due: number; longest_s: number | null }>(
    db,
    `SELECT COUNT(*) AS due, TIMESTAMPDIFF(SECOND, MIN(due_at), NOW(3)) AS longest_s
       FROM sume_events WHERE state = 'claimed' AND urgent IN (0, 1) AND due_at <= NOW(3)`,
    [],
  )
  return { due: row?.due ?? 0, longestS: row?.longest_s ?? 0 }
}
