import { randomBytes } from 'node:crypto'
import {
  attachIntent,
  type Ledger,
  LedgerError,
  leasePending,
  type LeasedIntent,
  postponeIntent,
  refuseIntent,
} from '../ledger/index.ts'
import type { Backoff } from '../runtime/index.ts'
import type { Receipt, SumeClient } from '../sume/index.ts'
import { judgeSubmit } from './submit-verdict.ts'

export interface SubmitDeps {
  readonly ledger: Ledger
  readonly client: Pick<SumeClient, 'submit'>
}

export interface SubmitRules {
  /** Longer than a call may take: nobody else sends an intent while its call may be under way. */
  readonly leaseMs: number
  readonly backoff: Backoff
  /** When the reconciler first asks about a submitted intent. */
  readonly pollAfterMs: number
  /** Aborts a call under way, when the process must end; it is sent again after `abortedMs`. */
  readonly stopping?: AbortSignal
}

/** What one try came to. `superseded`: it took so long that another try has begun. */
export interface Submitted {
  readonly key: string
  readonly kind: 'job' | 'run'
  readonly attempt: number
  readonly outcome: 'submitted' | 'pending' | 'conflict' | 'rejected' | 'superseded'
  readonly sumeId?: string
  /** Sume had this submit already: an earlier try's answer was lost. */
  readonly hit?: boolean
  readonly error?: string
  readonly requestId?: string
  readonly delayMs?: number
  /** So long nothing else should be sent, in milliseconds. */
  readonly pauseMs: number
}

/**
 * Sends the oldest pending intent whose time has come, and writes down what came of it.
 *
 * @returns `null` when there is none.
 * @throws what the ledger throws; the intent is then sent again after its lease, with the same key.
 */
export async function submitNext(deps: SubmitDeps, rules: SubmitRules): Promise<Submitted | null> {
  const token = randomBytes(16)
  const [intent] = await leasePending(deps.ledger, { token, leaseMs: rules.leaseMs, limit: 1 })
  return intent === undefined ? null : submitLeased(deps, rules, intent, token)
}

async function submitLeased(
  { ledger, client }: SubmitDeps,
  rules: SubmitRules,
  intent: LeasedIntent,
  token: Buffer,
): Promise<Submitted> {
  const { idempotency_key: key, path, body, kind, attempts: attempt } = intent
  const tried = { key, kind, attempt }
  let receipt: Receipt
  try {
    const signal = rules.stopping === undefined ? {} : { signal: rules.stopping }
    receipt = await client.submit({ path, key, body, kind, ...signal })
  } catch (thrown) {
    const verdict = judgeSubmit(thrown, attempt, rules.backoff)
    const { error } = verdict
    const said = {
      error: error.text,
      ...(error.requestId === null ? {} : { requestId: error.requestId }),
    }
    if (verdict.state !== 'pending') {
      const held = await refuseIntent(ledger, { key, token }, verdict)
      return { ...tried, ...said, outcome: held ? verdict.state : 'superseded', pauseMs: 0 }
    }
    const { delayMs, pauseMs } = verdict
    const held = await postponeIntent(ledger, { key, token }, { delayMs, error })
    return { ...tried, ...said, outcome: held ? 'pending' : 'superseded', delayMs, pauseMs }
  }
  const { sumeId, kind: made, hit } = receipt
  try {
    await attachIntent(ledger, key, sumeId, rules.pollAfterMs, made)
    return { ...tried, kind: made, sumeId, hit, outcome: 'submitted', pauseMs: 0 }
  } catch (thrown) {
    // An id that cannot be this intent's: Sume broke its word. Sending it again would not mend that, so a person must look.
    if (!(thrown instanceof LedgerError)) throw thrown
    const error = { text: thrown.message, code: thrown.code, requestId: null }
    await refuseIntent(ledger, { key, token }, { state: 'rejected', error })
    return { ...tried, sumeId, error: thrown.message, outcome: 'rejected', pauseMs: 0 }
  }
}
