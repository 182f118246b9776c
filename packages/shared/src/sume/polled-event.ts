import { type Envelope, type Kind, parseEnvelope } from '../envelope/index.ts'
import type { SumeStatus } from './client.ts'

/** An outcome that was asked for, in the shape in which a webhook would have brought it. */
export interface PolledEvent {
  readonly envelope: Envelope
  readonly body: Buffer
}

const COMPLETED = ['completed', 'succeeded', 'success']
const CANCELED = ['canceled', 'cancelled']
const FAILED = ['failed', 'nsfw', 'error', 'errored', 'expired']
const OPEN = ['queued', 'processing']

/**
 * Whether a job or run has ended. A word that nobody has told us of is no end: a follow-up must not learn
 * of a failure that was none. Such a job is asked about until the horizon, and then lost, which is loud.
 */
export const hasEnded = (kind: Kind, { status }: SumeStatus): boolean =>
  [...COMPLETED, ...CANCELED, ...FAILED].includes(word(status)) ||
  (kind === 'run' && word(status) === 'skipped')

/** Whether it is one of the words that Sume is known to use. */
export const isKnown = (kind: Kind, status: SumeStatus): boolean =>
  OPEN.includes(word(status.status)) || hasEnded(kind, status)

/** Whether its result has to be fetched before there is an event. */
export const hasResult = ({ status }: SumeStatus): boolean => COMPLETED.includes(word(status))

/**
 * The event of a job or run that has ended: `completed` and its other words as `job.completed`, canceled
 * ones as `job.canceled`, every other end as `job.failed`; runs likewise, and `run.skipped`. A cancelled or
 * skipped run sends no webhook at all, so this is the only way in which its end is known.
 *
 * @param result of a completed job or run.
 */
export function polledEvent(
  kind: Kind,
  sumeId: string,
  status: SumeStatus,
  result: Record<string, unknown> | null,
): PolledEvent {
  const end = endOf(kind, status)
  const completed = end === 'completed'
  const fields = {
    event: `${kind}.${end}`,
    status: completed ? 'OK' : 'ERROR',
    ...(kind === 'job' ? { job_id: sumeId, request_id: sumeId } : { run_id: sumeId }),
    ...(completed
      ? { result: result ?? {} }
      : { error: status.error ?? { code: end, message: `the ${kind} ended as ${status.status}` } }),
  }
  const body = Buffer.from(JSON.stringify(fields))
  const read = parseEnvelope(body)
  if (!read.readable) throw new Error(`the outcome of ${sumeId} is no event: ${read.reason}`)
  return { envelope: read.envelope, body }
}

function endOf(
  kind: Kind,
  { status }: SumeStatus,
): 'completed' | 'canceled' | 'skipped' | 'failed' {
  if (COMPLETED.includes(word(status))) return 'completed'
  if (CANCELED.includes(word(status))) return 'canceled'
  return kind === 'run' && word(status) === 'skipped' ? 'skipped' : 'failed'
}

const word = (status: string): string => status.toLowerCase()
