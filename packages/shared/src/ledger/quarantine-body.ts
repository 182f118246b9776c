import { createHash } from 'node:crypto'
import type { Unreadable } from '../envelope/index.ts'
import type { Db } from './db.ts'
import { affectedRows } from './rows.ts'

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
 * Bounds the quarantine: of all its rows, the `maxRows` seen last stay, the oldest go first, at most a
 * thousand in one call.
 *
 * @returns how many rows went.
 */
export async function trimQuarantine(db: Db, maxRows: number): Promise<number> {
  return affectedRows(
    db,
    `DELETE FROM sume_quarantine WHERE last_seen < (SELECT last_seen FROM (
       SELECT last_seen FROM sume_quarantine ORDER BY last_seen DESC LIMIT 1 OFFSET ?) AS oldest_kept)
     ORDER BY last_seen LIMIT 1000`,
    [String(Math.max(maxRows - 1, 0))],
  )
}
