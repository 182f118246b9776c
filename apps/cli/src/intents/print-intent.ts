import type { IntentState, IntentSummary } from '@sume-inbox/shared/ledger'
import type { Out } from '../out.ts'
import { table } from '../table.ts'

const LABEL = 13

const MEANS: Readonly<Record<IntentState, string>> = {
  pending: 'to be sent by a worker, with the same key and bytes each time',
  submitted: 'Sume has it; its event is awaited',
  settled: 'its event is in the ledger',
  conflict: 'Sume knows the key with another body; a person must look',
  rejected: 'Sume refused it; sume intents retry sends it again, with the same key and bytes',
  lost: 'no outcome within the horizon; a person must look',
}

export function printIntent(intent: IntentSummary, out: Out): void {
  const field = (label: string, value: string | number | Date | null) => {
    if (value === null) return
    out.line(`  ${label.padEnd(LABEL)} ${value instanceof Date ? value.toISOString() : value}`)
  }
  out.line(`intent ${intent.idempotency_key}  ${intent.state}: ${MEANS[intent.state]}`)
  field(intent.kind === 'job' ? 'job_id' : 'run_id', intent.sume_id)
  field('path', intent.path)
  field('body sha256', intent.body_sha256)
  field('tries', intent.attempts)
  field('polls', intent.polls === 0 ? null : intent.polls)
  field('last error', intent.last_error)
  field('its request_id', intent.error_request_id)
  field('made at', intent.created_at)
  field('submitted at', intent.submitted_at)
  field('settled at', intent.settled_at)
  if (intent.leased_until !== null) field('in work until', intent.leased_until)
  else if (intent.state === 'pending' || intent.state === 'submitted')
    field('due at', intent.due_at)
  out.line('')
}

export const intentTable = (intents: readonly IntentSummary[]): string =>
  table(
    ['key', 'state', 'kind', 'sume id', 'tries', 'polls', 'made at', 'last error'],
    intents.map((intent) => [
      intent.idempotency_key,
      intent.state,
      intent.kind,
      intent.sume_id ?? '',
      intent.attempts,
      intent.polls,
      intent.created_at.toISOString(),
      intent.last_error ?? '',
    ]),
  )
