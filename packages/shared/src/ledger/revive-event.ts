import type { RowDataPacket } from 'mysql2/promise'
import type { Db, Ledger } from './db.ts'
import { affectedRows, changesOne } from './rows.ts'

/** Who had an event run again, and why. */
export interface Reviver {
  /** A person's name or account. */
  readonly by: string
  readonly why: string | null
}

/**
 * One more attempt for a dead event: what Retry in the console means, before the job is retried.
 *
 * @returns `false` when the event is not dead.
 */
export const retryEvent = (
  ledger: Ledger,
  dedupeKey: string,
  maxAttempts: number,
  { by, why }: Reviver,
): Promise<boolean> =>
  ledger.inTransaction(async (tx) => {
    const revived = await changesOne(
      tx,
      `UPDATE sume_events SET attempts = ? - 1, state = 'claimed', lease_token = NULL, leased_until = NULL, due_at = NOW(3)
        WHERE dedupe_key = ? AND state = 'dead'`,
      [maxAttempts, dedupeKey],
    )
    if (revived) await recordReplay(tx, 'retry', dedupeKey, { by, why })
    return revived
  })

/** Which replay: of a dead event, or, by force, of one that is done. */
export type Replay = 'replay' | 'forced'

const REPLAYS = {
  replay: {
    guard: "state = 'dead'",
    set: 'attempts = 0, snoozes = 0',
  },
  forced: {
    // What the reaper emptied cannot be followed up again.
    guard: "state = 'done' AND payload <> ''",
    set: 'attempts = 0, snoozes = 0, done_at = NULL',
  },
} as const

/**
 * All attempts again, for many events in one transaction. Events in another state than the replay is
 * for are passed over.
 *
 * @returns the keys of those that are claimed again now.
 */
export const replayEvents = (
  ledger: Ledger,
  what: Replay,
  dedupeKeys: readonly string[],
  { by, why }: Reviver,
): Promise<string[]> =>
  ledger.inTransaction(async (tx) => {
    const { guard, set } = REPLAYS[what]
    // `query`, because the list's length varies and every length would be a prepared statement of its own.
    const [held] = await tx.query<(RowDataPacket & { dedupe_key: string })[]>(
      `SELECT dedupe_key FROM sume_events WHERE dedupe_key IN (?) AND ${guard} ORDER BY dedupe_key FOR UPDATE`,
      [dedupeKeys],
    )
    const keys = held.map((row) => row.dedupe_key)
    if (keys.length === 0) return []
    await tx.query(
      `UPDATE sume_events SET ${set}, state = 'claimed', lease_token = NULL, leased_until = NULL, due_at = NOW(3)
        WHERE dedupe_key IN (?) AND ${guard}`,
      [keys],
    )
    await tx.query('INSERT INTO sume_replays (dedupe_key, what, replayed_by, why) VALUES ?', [
      keys.map((key) => [key, what, by, why]),
    ])
    return keys
  })

/** Part of an event's story: who, why and what. */
export async function recordReplay(
  tx: Db,
  what: 'retry' | Replay | 'released',
  dedupeKey: string,
  { by, why }: Reviver,
): Promise<void> {
  await affectedRows(
    tx,
    'INSERT INTO sume_replays (dedupe_key, what, replayed_by, why) VALUES (?, ?, ?, ?)',
    [dedupeKey, what, by, why],
  )
}
