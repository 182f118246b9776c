import { createHash } from 'node:crypto'
import type { ResultSetHeader } from 'mysql2/promise'
import type { Unreadable } from '../envelope/index.ts'
import type { Db } from './db.ts'
import { affectedRows, rows } from './rows.ts'

/**
 * Keeps a signed body that could not be read as an event, one row for each distinct body.
 *
 * @returns whether this body is here for the first time.
 */
export async function quarantineBody(db: Db, body: Buffer, reason: Unreadable): Promise<boolean> {
  const sha256 = createHash('sha256').update(body).digest()
  const affected = await affectedRows(
    db,
    `INSERT INTO sume_quarantine (body_sha256, body, reason) VALUES (?, ?, ?)
     ON DUPLICATE KEY UPDATE count = LEAST(count + 1, 4294967295), last_seen = NOW(3)`,
    [sha256, body, reason],
  )
  return affected === 1
}

/**
 * Bounds the quarantine: of all its rows, the `maxRows` seen last stay, and of the others a thousand go
 * in one call.
 *
 * @returns how many rows went.
 */
export async function trimQuarantine(db: Db, maxRows: number): Promise<number> {
  const surplus = await rows<{ body_sha256: Buffer; last_seen: Date }>(
    db,
    `SELECT body_sha256, last_seen FROM sume_quarantine
      ORDER BY last_seen DESC, body_sha256 LIMIT 1000 OFFSET ?`,
    [String(maxRows)],
  )
  const [newest] = surplus
  if (newest === undefined) return 0
  // By primary key, which is the order in which an insert locks too: a DELETE along the other index
  // deadlocks with deliveries. What was seen again since stays.
  const [result] = await db.query<ResultSetHeader>(
    'DELETE FROM sume_quarantine WHERE body_sha256 IN (?) AND last_seen <= ?',
    [surplus.map((row) => row.body_sha256), newest.last_seen],
  )
  return result.affectedRows
}
