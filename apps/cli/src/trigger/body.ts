import { randomUUID } from 'node:crypto'

/** The events that Sume sends, as far as is known. Source: the published pages; the runs' names are inferred. */
export const EVENTS = [
  'job.completed',
  'job.failed',
  'job.canceled',
  'run.completed',
  'run.failed',
] as const

export type SumeEvent = (typeof EVENTS)[number]

export const isSumeEvent = (word: string): word is SumeEvent =>
  (EVENTS as readonly string[]).includes(word)

export interface Ids {
  readonly jobId?: string | undefined
  readonly runId?: string | undefined
  readonly requestId?: string | undefined
}

/**
 * The body of the webhook with which Sume reports `event`. A job's `request_id` shows its `job_id`
 * again; a run has one of its own. What follows the envelope is inferred from Sume's result bodies.
 */
export function webhookBody(event: SumeEvent, ids: Ids, status?: 'OK' | 'ERROR'): Buffer {
  const said = { event, status: status ?? (event.endsWith('.completed') ? 'OK' : 'ERROR') }
  return Buffer.from(
    JSON.stringify({ ...said, ...idsOf(event, ids), ...outcomeOf(event, said.status) }),
  )
}

function idsOf(event: SumeEvent, ids: Ids): Record<string, string> {
  if (event.startsWith('run.')) {
    return {
      run_id: ids.runId ?? `run_${randomUUID()}`,
      request_id: ids.requestId ?? `req_${randomUUID()}`,
    }
  }
  const jobId = ids.jobId ?? `job_${randomUUID()}`
  return { job_id: jobId, request_id: ids.requestId ?? jobId }
}

const outcomeOf = (event: SumeEvent, status: string): Record<string, unknown> => {
  if (status === 'OK') {
    const url = 'https://media.example.com/result.png'
    return { result: { artifacts: [{ url, type: 'image', content_type: 'image/png' }] } }
  }
  return event === 'job.canceled'
    ? { error: { code: 'job_canceled', message: 'the job was canceled' } }
    : { error: { code: 'generation_failed', message: 'the generation failed' } }
}
