import { isTooDeep, isUsableId, type Kind } from '../envelope/index.ts'
import type { NewIntent } from '../ledger/index.ts'
import { toError } from '../runtime/index.ts'

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
const RUN_PATH = /^\/v1\/formats\/[^/?]+\/runs(?:\?|$)/
const MODE = 'webhook'
/** Below the largest packet that any supported server takes by default. */
const MAX_BODY_BYTES = 8 * 1024 * 1024

/**
 * A body as it will be sent. In ASCII only: it means the same to every JSON reader, and a caller's connection, whatever
 * its character set, cannot change a letter of what is paid for.
 *
 * @returns a string of what is wrong, instead, when it is no JSON.
 */
function write(body: object): { text: string } | string {
  let text: string | undefined
  try {
    text = JSON.stringify(body)
  } catch (error) {
    // A cycle, a BigInt, more levels than the stack has.
    return `body: cannot be written as JSON (${toError(error).name})`
  }
  if (text === undefined || !text.startsWith('{')) return 'body: a JSON object'
  if (isTooDeep(text)) return 'body: deeper than 100 levels'
  const ascii = text.replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return ascii.length > MAX_BODY_BYTES ? 'body: over 8 MiB' : { text: ascii }
}

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
  const isObject = isPlainObject(body)
  if (!isObject) problems.push('body: a JSON object')
  if (request.kind !== undefined && request.kind !== 'job' && request.kind !== 'run')
    problems.push('kind: job or run')
  if (isObject && saysNoWebhook(body) && !webhookUrl)
    problems.push('body: without webhook_url; give it one, or set SUME_WEBHOOK_URL')
  const written = isObject ? write(withWebhook(body, webhookUrl)) : ''
  if (typeof written === 'string' && written !== '') problems.push(written)
  if (problems.length > 0 || typeof written === 'string') throw new IntentProblem(problems)
  return {
    key,
    path,
    body: written.text,
    kind: request.kind ?? (RUN_PATH.test(path) ? 'run' : 'job'),
  }
}

/** A `Date`, a `Map` or a number's own text would be written as something that nobody meant. */
const isPlainObject = (value: unknown): value is Body =>
  typeof value === 'object' &&
  value !== null &&
  !(JSON as unknown as { isRawJSON(value: object): boolean }).isRawJSON(value) &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)

type Body = Readonly<Record<string, unknown>>

/** What JSON leaves out is not said. */
const says = (body: Body, field: string): boolean => body[field] !== undefined
const saysNoWebhook = (body: Body): boolean => !says(body, 'webhook_url') && !says(body, 'mode')

/** Only where the body says nothing about it: one that has a `mode` of its own means it. */
const withWebhook = (body: Body, webhookUrl: string | undefined): Body => {
  if (says(body, 'mode')) return body
  return says(body, 'webhook_url')
    ? { ...body, mode: MODE }
    : { ...body, mode: MODE, webhook_url: webhookUrl }
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
  const written = typeof url === 'string' ? write(withWebhook(request.body, url)) : ''
  return typeof written !== 'string' && written.text === stored
}

/** Whether Sume could have given this id. */
export const isSumeId = (id: string): boolean => isUsableId(id)
