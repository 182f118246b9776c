import type { Db } from './db.ts'
import { rows } from './rows.ts'

const EACH_SIDE = '50'

/**
 * The dedupe keys and Sume ids that stand next to `id` in the order of their indexes, 50 on each side:
 * what somebody may have meant who typed an id that is not there. Cheap on any ledger.
 */
export async function neighbouringIds(db: Db, id: string): Promise<string[]> {
  const found = await rows<{ id: string }>(
    db,
    `(SELECT dedupe_key AS id FROM sume_events WHERE dedupe_key >= ? ORDER BY dedupe_key LIMIT ?)
     UNION (SELECT dedupe_key FROM sume_events WHERE dedupe_key < ? ORDER BY dedupe_key DESC LIMIT ?)
     UNION (SELECT sume_id FROM sume_events WHERE sume_id >= ? ORDER BY sume_id LIMIT ?)
     UNION (SELECT sume_id FROM sume_events WHERE sume_id < ? ORDER BY sume_id DESC LIMIT ?)`,
    [id, EACH_SIDE, id, EACH_SIDE, id, EACH_SIDE, id, EACH_SIDE],
  )
  return found.map((row) => row.id)
}
