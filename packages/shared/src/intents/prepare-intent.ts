import { isUsableId, type Kind } from '../envelope/index.ts'
import type { NewIntent } from '../ledger/index.ts'

/** A paid submit as an application asks for it. */
export interface SubmitRequest {
  /**
   * The `Idempotency-Key`: 1 to 255 printable ASCII characters without spaces, the same for every try of
   * the same order. `deriveKey` makes one of an application's own ids.
   */
  readonly key: string
  /** Where on Sume's API: `/v1/image-router/generate`. */
  readonly path: string
  /** What Sume is to make. `mode` and `webhook_url` are added where both are missing. */
  readonly body: Readonly<Record<string, unknown>>
  /** What the call makes: a job, or a run of a Format. By the path, where it is not said. */
  readonly kind?: Kind
}

/** A submit that cannot be one. `problems` names everything that is wrong. */
export class IntentProblem extends Error {
  readonly code = 'INTENT'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`the submit cannot be used: ${problems.join('; ')}`)
    this.name = 'IntentProblem'
    this.problems = problems
  }
}

const KEY = /^[\x21-\x7e]{1,255}$/
const PATH = /^\/(?!\/)[\x21-\x7e]{0,254}$/
/** A Format's run is submitted there; everything else makes a job. */
const RUN_PATH = /^\/v1\/formats\/[^/]+\/runs$/
const MODE = 'webhook'

/**
 * The intent that a request becomes: its bytes are fixed here, for every try.
 *
 * @param webhookUrl what Sume is given where the body says nothing; `undefined`: then it has to say something.
 * @throws IntentProblem with everything that is wrong.
 */
export function prepareIntent(request: SubmitRequest, webhookUrl: string | undefined): NewIntent {
  const { key, path, body } = request
  const problems: string[] = []
  if (typeof key !== 'string' || !KEY.test(key))
    problems.push('key: 1 to 255 printable ASCII characters without spaces')
  if (typeof path !== 'string' || !PATH.test(path))
    problems.push("path: Sume's path from its first slash, 255 printable ASCII characters at most")
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  if (!isObject) problems.push('body: a JSON object')
  if (request.kind !== undefined && request.kind !== 'job' && request.kind !== 'run')
    problems.push('kind: job or run')
  if (isObject && saysNoWebhook(body) && webhookUrl === undefined)
    problems.push('body: without webhook_url; give it one, or set SUME_WEBHOOK_URL')
  if (problems.length > 0) throw new IntentProblem(problems)
  return {
    key,
    path,
    body: JSON.stringify(withWebhook(body, webhookUrl)),
    kind: request.kind ?? (RUN_PATH.test(path) ? 'run' : 'job'),
  }
}

const saysNoWebhook = (body: object): boolean => !('webhook_url' in body) && !('mode' in body)

/** Only where the body says nothing about it: one that has a `mode` of its own means it. */
const withWebhook = (
  body: Readonly<Record<string, unknown>>,
  webhookUrl: string | undefined,
): object => {
  if ('webhook_url' in body) return 'mode' in body ? body : { ...body, mode: MODE }
  return 'mode' in body ? body : { ...body, mode: MODE, webhook_url: webhookUrl }
}

/**
 * Whether a stored body is what this request became when another `webhookUrl` was set: a setting that
 * changes must not turn a retry into a conflict.
 */
export function isSameSubmit(request: SubmitRequest, stored: string): boolean {
  if (!saysNoWebhook(request.body)) return false
  let before: unknown
  try {
    before = JSON.parse(stored)
  } catch {
    return false
  }
  const url = (before as { webhook_url?: unknown } | null)?.webhook_url
  return typeof url === 'string' && JSON.stringify(withWebhook(request.body, url)) === stored
}

/** Whether Sume could have given this id. */
export const isSumeId = (id: string): boolean => isUsableId(id)
