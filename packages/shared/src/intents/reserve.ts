import { attachIntent, type Db, reserveIntent } from '../ledger/index.ts'
import {
  IntentProblem,
  isSameSubmit,
  isSumeId,
  prepareIntent,
  type SubmitRequest,
} from './prepare-intent.ts'

/** When the reconciler first asks about a submitted intent, where nobody says otherwise: `RECONCILE_AFTER_MS`'s default. */
const POLL_AFTER_MS = 120_000

/**
 * Writes a paid submit down, before anything is sent: a submitter then sends it, once, whatever fails.
 * Inside a transaction it is part of it; a rollback submits nothing.
 *
 * @param db a ledger, a transaction of it, or the caller's own mysql2 connection.
 * @param options.webhookUrl where Sume is to tell about it, where the body has no `webhook_url`.
 * @returns `true` for the call that wrote it, `false` when it was there.
 * @throws IntentProblem when it cannot be used; LedgerError `KEY_REUSED`, with both hashes, when the key is there for another submit.
 */
export async function reserve(
  db: Db,
  intent: SubmitRequest,
  options: { webhookUrl?: string | undefined } = {},
): Promise<boolean> {
  const prepared = prepareIntent(intent, options.webhookUrl)
  return reserveIntent(db, prepared, (stored) => isSameSubmit(intent, stored))
}

/**
 * Writes down the id that Sume gave to an intent, for an application that made the call itself.
 *
 * @param options.pollAfterMs when the reconciler first asks about it, if no event has come by then; two minutes.
 * @throws LedgerError `ID_OF_ANOTHER_INTENT`, `INTENT_HAS_ANOTHER_ID` or `NO_SUCH_INTENT`; IntentProblem when it is no id.
 */
export async function attach(
  db: Db,
  key: string,
  sumeId: string,
  options: { pollAfterMs?: number } = {},
): Promise<void> {
  if (!isSumeId(sumeId))
    throw new IntentProblem(['sume id: 1 to 64 printable ASCII characters without spaces'])
  await attachIntent(db, key, sumeId, options.pollAfterMs ?? POLL_AFTER_MS)
}
