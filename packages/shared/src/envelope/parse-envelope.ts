import type { Envelope, Kind, ParsedBody, Unreadable } from './envelope.ts'
import { isTooDeep } from './nesting.ts'

const RUN_PREFIX = 'run:'
/** Exactly these ids fit the ledger's ascii_bin columns without being merged by case, accent or space. */
const USABLE_ID = /^[\x21-\x7e]{1,64}$/
const USABLE_EVENT = /^[\x20-\x7e]{1,64}$/

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the envelope out of a webhook's raw body. Pure, and total: whatever the bytes are, it answers
 * and never throws, because Sume would send a body that makes us throw again and again.
 *
 * Source: the published pages on `job_id` and `request_id`; the rules are this project's own.
 */
export function parseEnvelope(raw: Buffer): ParsedBody {
  const text = decode(raw)
  if (text === null) return unreadable('not UTF-8')
  const parsed = parseJson(text)
  if (parsed === null) return unreadable('not JSON')
  const body: unknown = parsed.value
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return unreadable('not an object')
  if (isTooDeep(text)) return unreadable('deeper than 100 levels')
  return readFields(new Map<string, unknown>(Object.entries(body)))
}

/** The dedupe key of a run: by its request id, or by its own id where a poll or an old body has none. */
export const runKey = (id: string): string => RUN_PREFIX + id

/** Whether Sume could have given this id, and the ledger can keep it. */
export const isUsableId = (id: unknown): id is string =>
  typeof id === 'string' && USABLE_ID.test(id)

function readFields(body: ReadonlyMap<string, unknown>): ParsedBody {
  const event = body.get('event')
  if (typeof event !== 'string' || !USABLE_EVENT.test(event)) return unreadable('no usable event')
  const status = body.get('status')
  if (status !== 'OK' && status !== 'ERROR') return unreadable('status is neither OK nor ERROR')
  const jobId = body.get('job_id')
  const runId = body.get('run_id')
  const requestId = body.get('request_id')
  switch (kindOf(event, isThere(jobId), isThere(runId))) {
    case 'job':
      return readJob({ event, status }, jobId, requestId)
    case 'run':
      return readRun({ event, status }, runId, requestId)
    case null:
      return unreadable('kind unclear')
  }
}

function kindOf(event: string, hasJobId: boolean, hasRunId: boolean): Kind | null {
  if (event.startsWith('run.')) return 'run'
  if (event.startsWith('job.')) return 'job'
  if (hasJobId === hasRunId) return null
  return hasJobId ? 'job' : 'run'
}

type Said = Pick<Envelope, 'event' | 'status'>

function readJob(said: Said, jobId: unknown, requestId: unknown): ParsedBody {
  // A job with a key of a run's form could be taken for a run's event.
  if (!isUsableId(jobId) || jobId.startsWith(RUN_PREFIX)) return unreadable('no usable job_id')
  const usable = isUsableId(requestId) ? requestId : null
  const envelope: Envelope = {
    ...said,
    kind: 'job',
    dedupeKey: jobId,
    sumeId: jobId,
    requestId: usable,
  }
  if (usable === null) {
    return isThere(requestId)
      ? { readable: true, envelope, odd: 'the request_id is unusable and was not stored' }
      : { readable: true, envelope }
  }
  if (usable !== jobId)
    return { readable: true, envelope, odd: 'the request_id differs from the job_id' }
  return { readable: true, envelope }
}

function readRun(said: Said, runId: unknown, requestId: unknown): ParsedBody {
  if (!isUsableId(runId)) return unreadable('no usable run_id')
  const run = { ...said, kind: 'run', sumeId: runId } as const
  if (!isThere(requestId)) {
    return { readable: true, envelope: { ...run, dedupeKey: runKey(runId), requestId: null } }
  }
  // Without its request id, one run's events cannot be told apart.
  if (!isUsableId(requestId)) return unreadable('unusable request_id')
  return { readable: true, envelope: { ...run, dedupeKey: runKey(requestId), requestId } }
}

const isThere = (value: unknown): boolean => value !== undefined && value !== null

const unreadable = (reason: Unreadable): ParsedBody => ({ readable: false, reason })

function decode(raw: Buffer): string | null {
  try {
    return utf8.decode(raw)
  } catch {
    return null
  }
}

function parseJson(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return null
  }
}
