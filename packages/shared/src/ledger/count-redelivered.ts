import type { Db } from './db.ts'
import { rows } from './rows.ts'

/**
 * How many events were delivered more than once, and how many of them with another status than at first.
 * Reads the whole table, because no index has the column.
 *
 * @throws DeadlineError on a ledger too large for that.
 */
export async function countRedelivered(
  db: Db,
): Promise<{ events: number; mostDeliveries: number; diverged: number }> {
  const [row] = await rows<{
    events: number
    most: number | null
    diverged: string | number | null
  }>(
    db,
    `SELECT COUNT(*) AS events, MAX(deliveries) AS most, SUM(diverged <> 0) AS diverged
       FROM sume_events WHERE deliveries > 1`,
    [],
  )
  return {
    events: row?.events ?? 0,
    mostDeliveries: row?.most ?? 0,
    diverged: Number(row?.diverged ?? 0),
  }
}
