import type { RowDataPacket } from 'mysql2/promise'
import type { Db, Ledger } from './db.ts'

/**
 * The `due_at` of a done event is of no use to the sweeper. The reaper orders them by it, along the
 * index that is there, and puts what it emptied a century later: so no look meets it again.
 */
const EMPTIED = 'INTERVAL 100 YEAR'
const HALF_WAY = 'INTERVAL 50 YEAR'

/**
 * Empties the payloads of done events that were last worked on `days` days ago, `limit` at most, the
 * oldest first. Their keys stay: they are what a late delivery is known by.
 *
 * @returns how many were emptied.
 */
export const emptyPayloads = (ledger: Ledger, days: number, limit: number): Promise<number> =>
  ledger.inTransaction(async (tx) => {
    const keys = await oldest(tx, 'due_at <= NOW(3) - INTERVAL ? DAY', days, limit)
    if (keys.length > 0) {
      await tx.query(
        `UPDATE sume_events SET payload = '', due_at = due_at + ${EMPTIED} WHERE dedupe_key IN (?)`,
        [keys],
      )
    }
    return keys.length
  })

/**
 * Deletes emptied events that were last worked on `days` days ago, with their stories. A delivery that
 * comes even later is a new event.
 *
 * @returns how many went.
 */
export const deleteEmptied = (ledger: Ledger, days: number, limit: number): Promise<number> =>
  ledger.inTransaction(async (tx) => {
    const keys = await oldest(
      tx,
      `due_at > NOW(3) + ${HALF_WAY} AND due_at <= NOW(3) - INTERVAL ? DAY + ${EMPTIED}`,
      days,
      limit,
    )
    if (keys.length > 0) {
      for (const table of ['sume_attempts', 'sume_replays', 'sume_events'])
        await tx.query(`DELETE FROM ${table} WHERE dedupe_key IN (?)`, [keys])
    }
    return keys.length
  })

/** Locks the done events whose `due_at` is so, the oldest of them. */
async function oldest(tx: Db, range: string, days: number, limit: number): Promise<string[]> {
  const condition = `state = 'done' AND urgent IN (0, 1) AND ${range}`
  type Rows = (RowDataPacket & { dedupe_key: string })[]
  const [seen] = await tx.query<Rows>(
    `SELECT dedupe_key FROM sume_events WHERE ${condition} ORDER BY urgent DESC, due_at LIMIT ?`,
    [days, limit],
  )
  if (seen.length === 0) return []
  // By primary key, as deliveries and other reapers lock too: along the other index they deadlock.
  const [held] = await tx.query<Rows>(
    `SELECT dedupe_key FROM sume_events FORCE INDEX (PRIMARY) WHERE ${condition} AND dedupe_key IN (?)
      ORDER BY dedupe_key FOR UPDATE`,
    [days, seen.map((row) => row.dedupe_key)],
  )
  return held.map((row) => row.dedupe_key)
}
