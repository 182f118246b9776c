import type { Db } from './db.ts'
import { rows } from './rows.ts'

/** Bodies in quarantine for one reason. */
export interface QuarantineCount {
  readonly reason: string
  /** Distinct bodies. */
  readonly bodies: number
  /** Deliveries that brought them. */
  readonly deliveries: number
}

/** Counts the quarantine by reason, the most frequent first. */
export async function countQuarantine(db: Db): Promise<QuarantineCount[]> {
  const counted = await rows<{ reason: string; bodies: number; deliveries: string | number }>(
    db,
    `SELECT reason, COUNT(*) AS bodies, SUM(count) AS deliveries
       FROM sume_quarantine GROUP BY reason ORDER BY bodies DESC, reason`,
    [],
  )
  return counted.map((row) => ({
    reason: row.reason,
    bodies: row.bodies,
    deliveries: Number(row.deliveries),
  }))
}
