import type { ResultSetHeader } from 'mysql2/promise'
import type { Kind } from '../../envelope/index.ts'
import type { Ledger } from '../db.ts'
import { rows } from '../rows.ts'

/** An intent that Sume has, and whose event has not come. */
export interface UnsettledIntent {
  readonly idempotency_key: string
  readonly kind: Kind
  readonly sume_id: string
  /** Times that Sume was asked before. */
  readonly polls: number
  /** Since Sume's id was known, in milliseconds. */
  readonly age_ms: number
}

export interface Unsettled {
  /** To be asked about. Nobody else gets them for `holdMs`. */
  readonly poll: UnsettledIntent[]
  /** Intents whose event was there: they are settled now. */
  readonly settled: number
}

/** A lost intent is not polled any more; so often it is looked whether its webhook has come after all. */
const LOST_EVERY_MS = 3_600_000

/**
 * Takes up to `limit` submitted intents whose time has come, oldest first. Those whose event is in the
 * ledger are settled on the way, lost ones too: only the others are worth a call.
 *
 * @param holdMs after so long others may take them: the caller has died.
 */
export const leaseUnsettled = (ledger: Ledger, limit: number, holdMs: number): Promise<Unsettled> =>
  ledger.inTransaction(async (tx) => {
    const due = [...(await takeDue('submitted')), ...(await takeDue('lost'))]
    if (due.length === 0) return { poll: [], settled: 0 }
    const [there] = await tx.query(
      'SELECT DISTINCT sume_id FROM sume_events WHERE sume_id IN (?)',
      [due.map(({ sume_id }) => sume_id)],
    )
    const known = new Set((there as { sume_id: string }[]).map(({ sume_id }) => sume_id))
    const settled = due.filter(({ sume_id }) => known.has(sume_id))
    const open = due.filter(({ sume_id }) => !known.has(sume_id))
    await change(settled, "state = 'settled', settled_at = NOW(3)", [])
    const poll = open.filter(({ state }) => state === 'submitted')
    await change(poll, 'due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND', [holdMs])
    const lost = open.filter(({ state }) => state === 'lost')
    await change(lost, 'due_at = NOW(3) + INTERVAL ? * 1000 MICROSECOND', [LOST_EVERY_MS])
    return { poll, settled: settled.length }

    function takeDue(state: 'submitted' | 'lost') {
      return rows<UnsettledIntent & { state: 'submitted' | 'lost' }>(
        tx,
        `SELECT idempotency_key, kind, sume_id, polls, state,
                TIMESTAMPDIFF(MICROSECOND, COALESCE(submitted_at, created_at), NOW(3)) DIV 1000 AS age_ms
           FROM sume_intents FORCE INDEX (by_due) WHERE state = ? AND due_at <= NOW(3)
          ORDER BY due_at LIMIT ? FOR UPDATE SKIP LOCKED`,
        [state, String(limit)],
      )
    }

    async function change(intents: UnsettledIntent[], set: string, values: number[]) {
      if (intents.length === 0) return
      await tx.query<ResultSetHeader>(
        `UPDATE sume_intents SET ${set} WHERE idempotency_key IN (?)`,
        [...values, intents.map(({ idempotency_key }) => idempotency_key)],
      )
    }
  })
