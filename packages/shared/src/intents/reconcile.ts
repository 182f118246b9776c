import {
  type Ledger,
  leaseUnsettled,
  loseIntent,
  postponePoll,
  recordPoll,
  type UnsettledIntent,
} from '../ledger/index.ts'
import type { Enqueued } from '../queues/index.ts'
import type { Rate } from '../runtime/index.ts'
import {
  hasEnded,
  hasResult,
  polledEvent,
  SumeError,
  type SumeClient,
  type SumeStatus,
} from '../sume/index.ts'
import { judgePoll, type PollRules } from './poll-verdict.ts'

export interface ReconcileDeps {
  readonly ledger: Ledger
  readonly client: Pick<SumeClient, 'jobStatus' | 'jobResult' | 'runStatus'>
  /** Shares Sume's patience among all that ask. */
  readonly rate: Rate
  /** Puts events that were first into the queue. A failure costs latency only: the sweeper adds them. */
  readonly enqueue: (event: Enqueued) => Promise<void>
  readonly told: (reconciled: Reconciled) => void
}

export interface ReconcileRules extends PollRules {
  /** Intents that are taken at once, and asked about side by side. */
  readonly batch: number
  /** The sweeper's clock of an event that a poll brought. */
  readonly graceMs: number
}

/** What asking about one intent came to. */
export interface Reconciled {
  readonly key: string
  readonly kind: 'job' | 'run'
  readonly sumeId: string
  /**
   * - `first`: it had ended, and no webhook had come.
   * - `duplicate`: it had ended, and the webhook came meanwhile.
   * - `open`: it has not ended, or its outcome cannot be read.
   * - `away`: Sume could not be asked.
   * - `lost`: the horizon has passed.
   */
  readonly outcome: 'first' | 'duplicate' | 'open' | 'away' | 'lost'
  readonly event?: string
  readonly delayMs?: number
  readonly error?: string
}

export interface ReconcileReport {
  /** Intents whose event was there. */
  readonly settled: number
  /** Intents that Sume was asked about. */
  readonly asked: number
  /** Of them, those whose webhook had not come. */
  readonly first: number
  readonly lost: number
}

/** Others may take what this process held when it died; longer than a poll's two calls may take. */
const HOLD_MS = 60_000
/** An answer that could not be written down, a deadlock say, is asked for again. */
const RETRY_MS = 5000

/**
 * Asks Sume about intents whose event has not come, oldest first, until none is due, the signal aborts, or
 * Sume cannot be asked: then the round ends and nothing is asked for a while.
 */
export async function reconcileDue(
  deps: ReconcileDeps,
  rules: ReconcileRules,
  signal: AbortSignal,
): Promise<ReconcileReport> {
  const report = { settled: 0, asked: 0, first: 0, lost: 0 }
  // What is taken is held for a while: taken in a pause, it would be taken again by others before its turn.
  if (deps.rate.pausedMs() > 0) return report
  for (;;) {
    const { poll, settled } = await leaseUnsettled(deps.ledger, rules.batch, HOLD_MS)
    report.settled += settled
    const round = await askAll(deps, rules, poll, signal)
    report.asked += round.length
    report.first += round.filter(({ outcome }) => outcome === 'first').length
    report.lost += round.filter(({ outcome }) => outcome === 'lost').length
    const away = round.some(({ outcome }) => outcome === 'away')
    if (poll.length + settled === 0 || away || signal.aborted) return report
  }
}

async function askAll(
  deps: ReconcileDeps,
  rules: ReconcileRules,
  intents: readonly UnsettledIntent[],
  signal: AbortSignal,
): Promise<Reconciled[]> {
  const round = new AbortController()
  const either = AbortSignal.any([signal, round.signal])
  const asked = await Promise.all(
    intents.map(async (intent) => {
      if (!(await deps.rate.take(either))) {
        // Sume went away, or we do: whoever comes next takes it.
        await postponePoll(deps.ledger, intent.idempotency_key, { delayMs: 0, counted: false })
        return null
      }
      const reconciled = await reconcileOne(deps, rules, intent)
      deps.told(reconciled)
      if (reconciled.outcome === 'away') {
        deps.rate.pause(reconciled.delayMs ?? 0)
        round.abort()
      }
      return reconciled
    }),
  )
  return asked.filter((reconciled) => reconciled !== null)
}

async function reconcileOne(
  deps: ReconcileDeps,
  rules: ReconcileRules,
  intent: UnsettledIntent,
): Promise<Reconciled> {
  const { ledger } = deps
  const { idempotency_key: key, kind, sume_id: sumeId, polls, age_ms: ageMs } = intent
  const about = { key, kind, sumeId }
  const { answer, result, withoutResult } = await ask(deps, intent)
  const verdict = judgePoll({ kind, polls, ageMs, answer, withoutResult }, rules)
  switch (verdict.what) {
    case 'open':
    case 'away': {
      const { what: outcome, ...later } = verdict
      await postponePoll(ledger, key, { ...later, counted: outcome === 'open' })
      return { ...about, outcome, ...later }
    }
    case 'lost':
      await loseIntent(ledger, key, verdict.error)
      return { ...about, outcome: 'lost', error: verdict.error }
    case 'ended': {
      const { envelope, body } = polledEvent(kind, sumeId, answer as SumeStatus, result)
      const { dedupeKey, status, event } = envelope
      try {
        const outcome = await recordPoll(ledger, key, { envelope, body, graceMs: rules.graceMs })
        if (outcome === 'first') await deps.enqueue({ dedupeKey, status })
        return { ...about, outcome, event }
      } catch (error) {
        await postponePoll(ledger, key, { delayMs: RETRY_MS, counted: false })
        throw error
      }
    }
  }
}

interface Answer {
  readonly answer: SumeStatus | SumeError
  readonly result: Record<string, unknown> | null
  readonly withoutResult?: SumeError
}

/** One poll: the status, and a completed job's result, so that the follow-up sees what a webhook would have brought. */
async function ask(
  { client }: ReconcileDeps,
  { kind, sume_id: id }: UnsettledIntent,
): Promise<Answer> {
  const answer = await (kind === 'job' ? client.jobStatus(id) : client.runStatus(id)).catch(
    asSumeError,
  )
  if (answer instanceof SumeError) return { answer, result: null }
  if (kind === 'run' || !hasEnded(kind, answer) || !hasResult(answer))
    return { answer, result: answer.result }
  const result = await client.jobResult(id).catch(asSumeError)
  return result instanceof SumeError
    ? { answer, result: null, withoutResult: result }
    : { answer, result }
}

function asSumeError(error: unknown): SumeError {
  if (error instanceof SumeError) return error
  throw error
}
