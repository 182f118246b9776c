import type { RowDataPacket } from 'mysql2/promise'
import type { Ledger } from './db.ts'

/** Which of these events are still claimed. */
export async function stillClaimed(
  ledger: Pick<Ledger, 'query'>,
  dedupeKeys: readonly string[],
): Promise<Set<string>> {
  if (dedupeKeys.length === 0) return new Set()
  // `query`, because the list's length varies and every length would be a prepared statement of its own.
  const [found] = await ledger.query<RowDataPacket[]>(
    "SELECT dedupe_key FROM sume_events WHERE dedupe_key IN (?) AND state = 'claimed'",
    [dedupeKeys],
  )
  return new Set((found as { dedupe_key: string }[]).map((row) => row.dedupe_key))
}
