import type { Kind } from '../../envelope/index.ts'
import type { Db } from '../db.ts'
import { LedgerError } from '../errors.ts'
import { changesOne, rowsAnywhere, type SqlValue } from '../rows.ts'

/**
 * Writes down the id that Sume gave to an intent. Needs no lease: an id is the truth, whoever brings it
 * and however late, and the same id may be brought again.
 *
 * One that only `adopt` has looked after is this intent's from now on.
 *
 * @param pollAfterMs when the reconciler first asks about it, if no event has come by then.
 * @param kind what the id is of, by Sume's answer; as the intent says, when it is not given.
 * @throws LedgerError `ID_OF_ANOTHER_INTENT`, `INTENT_HAS_ANOTHER_ID` or `NO_SUCH_INTENT`; nothing was changed.
 */
export async function attachIntent(
  db: Db,
  key: string,
  sumeId: string,
  pollAfterMs: number,
  kind?: Kind,
): Promise<void> {
  const take = () =>
    guarded(
      db,
      `UPDATE sume_intents SET sume_id = ?, kind = COALESCE(?, kind), state = 'submitted', submitted_at = NOW(3),
              lease_token = NULL, leased_until = NULL, last_error = NULL, error_code = NULL, error_request_id = NULL,
              due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND
        WHERE idempotency_key = ? AND sume_id IS NULL`,
      [sumeId, kind ?? null, pollAfterMs, key],
      sumeId,
    )
  const attached = await take().catch(async (error: unknown) => {
    if (error instanceof LedgerError && (await dropAdopted(db, sumeId))) return take()
    throw error
  })
  if (attached) return
  const [there] = await rowsAnywhere<{ sume_id: string | null }>(
    db,
    'SELECT sume_id FROM sume_intents WHERE idempotency_key = ? FOR UPDATE',
    [key],
  )
  if (there === undefined)
    throw new LedgerError('NO_SUCH_INTENT', `there is no intent with the key ${key}`)
  if (there.sume_id !== sumeId) {
    throw new LedgerError(
      'INTENT_HAS_ANOTHER_ID',
      `the intent ${key} has the id ${String(there.sume_id)} and cannot get ${sumeId} too`,
    )
  }
}

/** An adopted job turns out to be an intent's own: its webhook was faster than the answer to its submit, and a person took it for a stranger. */
const dropAdopted = (db: Db, sumeId: string): Promise<boolean> =>
  changesOne(db, "DELETE FROM sume_intents WHERE sume_id = ? AND path = '/' AND body = 'null'", [
    sumeId,
  ])

/**
 * Makes an intent for a job that was submitted elsewhere, so that the reconciler looks after it.
 *
 * @returns `false` when an intent has this id already.
 */
export async function adoptIntent(
  db: Db,
  adopted: { key: string; kind: 'job' | 'run'; sumeId: string; pollAfterMs: number },
): Promise<boolean> {
  const { key, kind, sumeId, pollAfterMs } = adopted
  try {
    return await guarded(
      db,
      `INSERT INTO sume_intents (idempotency_key, path, body, kind, sume_id, state, submitted_at, due_at)
       VALUES (?, '/', 'null', ?, ?, 'submitted', NOW(3), NOW(3) + INTERVAL ? * 1000 MICROSECOND)
       ON DUPLICATE KEY UPDATE idempotency_key = idempotency_key`,
      [key, kind, sumeId, pollAfterMs],
      sumeId,
    )
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'ID_OF_ANOTHER_INTENT') return false
    throw error
  }
}

const ER_DUP_ENTRY = 1062

async function guarded(db: Db, sql: string, values: SqlValue[], sumeId: string): Promise<boolean> {
  try {
    return await changesOne(db, sql, values)
  } catch (error) {
    if ((error as { errno?: unknown }).errno !== ER_DUP_ENTRY) throw error
    throw new LedgerError('ID_OF_ANOTHER_INTENT', `another intent has the id ${sumeId} already`, {
      cause: error,
    })
  }
}
