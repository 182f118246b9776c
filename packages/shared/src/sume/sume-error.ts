import { errorText } from '../runtime/index.ts'

/**
 * A call to Sume that did not give what it was made for.
 * - `refused`: an answer that is not 2xx.
 * - `unreadable`: a 2xx whose body is not what was promised; whether the call was carried out is unknown.
 * - `unreached`: no whole answer within the time limit; the same is unknown.
 */
export class SumeError extends Error {
  readonly kind: 'refused' | 'unreadable' | 'unreached'
  /** `POST /v1/…`: the call. */
  readonly call: string
  readonly status: number | null
  /** Sume's code, such as `idempotency_conflict`. */
  readonly code: string | null
  /** Names the failed call; to be quoted to Sume's support. It points to no job. */
  readonly requestId: string | null
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  /** The places in the request that Sume did not like. Not its words about them: they may quote a prompt. */
  readonly paths: readonly string[]
  readonly retryAfterMs: number | null

  constructor(
    call: string,
    said: Pick<SumeError, 'kind' | 'retryable'> &
      Partial<Pick<SumeError, 'status' | 'code' | 'requestId' | 'paths' | 'retryAfterMs'>> & {
        because: string
      },
    options?: ErrorOptions,
  ) {
    super(`${call}: ${said.because}`, options)
    this.name = 'SumeError'
    this.call = call
    this.kind = said.kind
    this.retryable = said.retryable
    this.status = said.status ?? null
    this.code = said.code ?? null
    this.requestId = said.requestId ?? null
    this.paths = said.paths ?? []
    this.retryAfterMs = said.retryAfterMs ?? null
  }
}

/** Besides every 5xx and 3xx: the same call may succeed later. */
const AGAIN = new Set([408, 425, 429])

/**
 * What an answer that is not 2xx says, by Sume's error envelope where it has one.
 *
 * @param text the body; a proxy's page where it is not JSON.
 */
export function refusedError(
  call: string,
  answer: { status: number; headers: Headers; text: string },
): SumeError {
  const { status, headers, text } = answer
  const envelope = readEnvelope(text)
  const { error } = envelope
  const code = stringOr(error['code'])
  const requestId =
    stringOr(error['request_id']) ??
    stringOr(envelope.requestId) ??
    headers.get('x-sume-request-id')
  const said = error['retryable']
  const paths = pathsOf(error['details'])
  const shown = [
    String(status),
    ...(code === null ? [] : [code]),
    ...(paths.length === 0 ? [] : [`(${paths.join(', ')})`]),
  ]
  return new SumeError(call, {
    kind: 'refused',
    because: shown.join(' '),
    status,
    code,
    requestId,
    paths,
    retryable:
      typeof said === 'boolean' ? said : status < 400 || status >= 500 || AGAIN.has(status),
    retryAfterMs: secondsOf(headers.get('retry-after')),
  })
}

export const unreadableError = (call: string, status: number, because: string): SumeError =>
  new SumeError(call, {
    kind: 'unreadable',
    because: `${status}, but ${because}`,
    status,
    retryable: true,
  })

export const unreachedError = (call: string, cause: unknown): SumeError =>
  new SumeError(
    call,
    { kind: 'unreached', because: `no answer: ${errorText(cause)}`, retryable: true },
    { cause },
  )

function readEnvelope(text: string): { error: Record<string, unknown>; requestId: unknown } {
  const body = objectOr(parse(text))
  return { error: objectOr(body['error']), requestId: body['request_id'] }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const objectOr = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const MOST_TEXT = 255

const stringOr = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, MOST_TEXT) : null

const MOST_PATHS = 10

function pathsOf(details: unknown): string[] {
  const { errors } = objectOr(details)
  if (!Array.isArray(errors)) return []
  return errors
    .map((error) => stringOr(objectOr(error)['path']))
    .filter((path) => path !== null)
    .slice(0, MOST_PATHS)
}

/** Whole seconds, as Sume sends them; a date is not looked at. */
const secondsOf = (header: string | null): number | null =>
  header !== null && /^\d{1,9}$/.test(header) ? Number(header) * 1000 : null
