import { isUsableId, type Kind } from '../envelope/index.ts'
import { refusedError, type SumeError, unreachedError, unreadableError } from './sume-error.ts'

export interface SumeOptions {
  /** The base URL, as in `https://api.open.sume.com`. */
  readonly url: string
  readonly key: string
  readonly auth: 'bearer' | 'x-api-key'
  /** `/v1/jobs/{id}`; `/status`, `/result` and `/cancel` are appended. */
  readonly jobPath: string
  /** `/v1/runs/{id}` */
  readonly runPath: string
  /** Told of every call that failed, before it is thrown. */
  readonly onFailure?: (error: SumeError) => void
  /** The longest that a submit may take, in milliseconds: a router hands the job to its model before it answers. */
  readonly submitMs?: number
  /** The longest that any other call may take, in milliseconds. */
  readonly callMs?: number
}

/** A submit's receipt. */
export interface Receipt {
  /** `job_id` or `run_id`. */
  readonly sumeId: string
  /** What it is, by the receipt itself. */
  readonly kind: Kind
  /** The key had been used for the same submit before: this is the same job. */
  readonly hit: boolean
}

/** How a job or run stands. */
export interface SumeStatus {
  /** `queued`, `processing`, `completed`, … in Sume's word. */
  readonly status: string
  /** Why it failed, as Sume tells it in a webhook's `error`. */
  readonly error: Record<string, unknown> | null
  /** A run's answer carries its result; a job's comes by `jobResult`. */
  readonly result: Record<string, unknown> | null
  /** Do not ask again sooner than this, in milliseconds. */
  readonly recommendedMs: number
}

/** A model of the catalog. */
export interface CatalogModel {
  readonly id: string
  readonly kind: string
  readonly [field: string]: unknown
}

/**
 * Calls to Sume's API. Each throws a `SumeError` when it does not get what it asked for; none is repeated
 * here, and no redirect is followed. Source of the shapes: Sume's Python SDK, sume-client 0.1.1.
 */
export interface SumeClient {
  /** The paid call: these bytes, under this key. */
  submit(submit: {
    path: string
    key: string
    body: string
    kind: Kind
    signal?: AbortSignal
  }): Promise<Receipt>
  jobStatus(jobId: string): Promise<SumeStatus>
  /** Of a completed job: `{artifacts: [{url, type, content_type}]}`. */
  jobResult(jobId: string): Promise<Record<string, unknown>>
  runStatus(runId: string): Promise<SumeStatus>
  cancelJob(jobId: string): Promise<void>
  catalog(): Promise<CatalogModel[]>
  catalogModel(modelId: string): Promise<CatalogModel>
}

const SUBMIT_MS = 90_000
const CALL_MS = 15_000
/** Sume's own recommendation where an answer has none. */
const POLL_MS = 2000

export function makeSumeClient(options: SumeOptions): SumeClient {
  const { key, auth, jobPath, runPath, submitMs = SUBMIT_MS, callMs = CALL_MS } = options
  const base = options.url.replace(/\/+$/, '')
  const login: Record<string, string> =
    auth === 'bearer' ? { authorization: `Bearer ${key}` } : { 'x-api-key': key }

  /** One call and its reading; whatever goes wrong is a `SumeError`, told and thrown. */
  async function call<T>(
    method: 'GET' | 'POST',
    path: string,
    read: (data: Record<string, unknown> | unknown[]) => T | string,
    more: {
      ms?: number
      headers?: Record<string, string>
      body?: string
      signal?: AbortSignal | undefined
    } = {},
  ): Promise<T> {
    const name = `${method} ${path}`
    const failed = (error: SumeError) => {
      options.onFailure?.(error)
      return error
    }
    const limit = AbortSignal.timeout(more.ms ?? callMs)
    let response: Response
    let text: string
    try {
      response = await fetch(base + path, {
        method,
        headers: { ...login, accept: 'application/json', ...more.headers },
        redirect: 'manual',
        signal: more.signal === undefined ? limit : AbortSignal.any([limit, more.signal]),
        ...(more.body === undefined ? {} : { body: more.body }),
      })
      text = await response.text()
    } catch (error) {
      throw failed(unreachedError(name, error))
    }
    if (!response.ok) {
      throw failed(refusedError(name, { status: response.status, headers: response.headers, text }))
    }
    const data = dataOf(text)
    const value = data === null ? 'the body is not {"data": …}' : read(data)
    if (typeof value === 'string') throw failed(unreadableError(name, response.status, value))
    return value
  }

  const at = (template: string, id: string, end = '') =>
    template.replace('{id}', encodeURIComponent(id)) + end

  return {
    submit: ({ path, key: idempotencyKey, body, kind, signal }) =>
      call('POST', path, (data) => readReceipt(data, kind), {
        ms: submitMs,
        headers: { 'idempotency-key': idempotencyKey, 'content-type': 'application/json' },
        body,
        signal,
      }),
    jobStatus: (id) =>
      call('GET', at(jobPath, id, '/status'), (data) => {
        const job = objectOf(data, 'job')
        const error = job === null ? null : objectOf(job, 'error')
        return readStatus(data, 'sume_status', { error, result: null })
      }),
    jobResult: (id) =>
      call(
        'GET',
        at(jobPath, id, '/result'),
        (data) => objectOf(data, 'result') ?? 'it has no result',
      ),
    runStatus: (id) =>
      call('GET', at(runPath, id), (data) =>
        readStatus(data, 'status', {
          error: objectOf(data, 'error'),
          result: objectOf(data, 'result'),
        }),
      ),
    cancelJob: (id) => call('POST', at(jobPath, id, '/cancel'), () => undefined),
    catalog: () =>
      call('GET', '/v1/open/catalog', (data) =>
        Array.isArray(data) && data.every(isModel) ? data : 'it is no list of models',
      ),
    catalogModel: (id) =>
      // The slash in a model's id is one of its path, too.
      call('GET', `/v1/open/catalog/${id.split('/').map(encodeURIComponent).join('/')}`, (data) =>
        isModel(data) ? data : 'it is no model',
      ),
  }
}

function dataOf(text: string): Record<string, unknown> | unknown[] | null {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body !== 'object' || body === null || !('data' in body)) return null
    const { data } = body
    return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : null
  } catch {
    return null
  }
}

const OTHER: Readonly<Record<Kind, Kind>> = { job: 'run', run: 'job' }

/**
 * The shape of a run's receipt is assumed: Sume has not published it. What it is a receipt of, it says itself; what was
 * expected decides only where it names both.
 */
function readReceipt(data: Record<string, unknown> | unknown[], expected: Kind): Receipt | string {
  if (Array.isArray(data)) return 'its data is a list'
  const hit = data['idempotency_hit'] === true
  const jobId = objectOf(data, 'job')?.['id']
  const runId = data['run_id']
  const other = expected === 'run' ? jobId : runId
  const own = expected === 'run' ? runId : jobId
  const kind = own === undefined && other !== undefined ? OTHER[expected] : expected
  // Where a job's receipt has no `job`, its request id is the job's.
  const sumeId = own ?? other ?? (expected === 'job' ? data['request_id'] : undefined)
  if (!isUsableId(sumeId)) return `it has no usable ${kind} id`
  return { sumeId, kind, hit }
}

function readStatus(
  data: Record<string, unknown> | unknown[],
  field: string,
  rest: Pick<SumeStatus, 'error' | 'result'>,
): SumeStatus | string {
  if (Array.isArray(data)) return 'its data is a list'
  const status = data[field]
  if (typeof status !== 'string' || status === '') return `it has no ${field}`
  const seconds = data['recommended_poll_interval_seconds']
  const recommendedMs = typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : POLL_MS
  return { status, recommendedMs, ...rest }
}

function objectOf(
  data: Record<string, unknown> | unknown[],
  field: string,
): Record<string, unknown> | null {
  const value = Array.isArray(data) ? undefined : data[field]
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

const isModel = (value: unknown): value is CatalogModel =>
  typeof value === 'object' &&
  value !== null &&
  'id' in value &&
  typeof value.id === 'string' &&
  'kind' in value &&
  typeof value.kind === 'string'
