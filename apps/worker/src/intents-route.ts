import { createHash, timingSafeEqual } from 'node:crypto'
import { IntentProblem, readJson, reserve, type SubmitRequest } from '@sume-inbox/shared/intents'
import { isUnavailable, type Ledger, LedgerError, readIntent } from '@sume-inbox/shared/ledger'
import { errorText } from '@sume-inbox/shared/runtime'
import type { Logger } from '@sume-inbox/shared/telemetry'
import type { FastifyInstance, FastifyReply } from 'fastify'

export interface IntentsRouteOptions {
  readonly ledger: Ledger
  readonly log: Logger
  readonly token: string
  readonly webhookUrl: string | undefined
}

const BODY_LIMIT = 1024 * 1024
const RETRY_AFTER_SECONDS = 2

/**
 * `POST /intents`: reserves a paid submit for an application that speaks HTTP only. A JSON object with
 * `key`, `path`, `body` and, where the path does not tell, `kind`. Answers 201 for a new intent, 200 for one
 * that is there, 409 with both hashes where the key is there for something else.
 */
export async function intentsRoute(
  app: FastifyInstance,
  { ledger, log, token, webhookUrl }: IntentsRouteOptions,
): Promise<void> {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: BODY_LIMIT },
    (_request, body, done) => done(null, body),
  )
  app.setErrorHandler<Error & { statusCode?: number }>(async (error, _request, reply) => {
    if (error.statusCode === 413) return problem(reply, 413, `the body is over ${BODY_LIMIT} bytes`)
    if (error.statusCode !== undefined && error.statusCode < 500)
      return problem(reply, 400, 'the request cannot be read')
    log.error({ error: errorText(error) }, 'POST /intents failed: a bug')
    return problem(reply, 500, 'this is our mistake; the log of the worker says more')
  })
  app.addHook('onRequest', async (request, reply) => {
    if (!isToken(request.headers.authorization, token))
      return problem(
        reply.header('www-authenticate', 'Bearer'),
        401,
        'give the token of INTENTS_TOKEN',
      )
  })
  app.post('/intents', async (request, reply) => {
    try {
      const wanted = readSubmit(request.body)
      const isNew = await reserve(ledger, wanted, { webhookUrl })
      const intent = await readIntent(ledger, wanted.key)
      return await reply.code(isNew ? 201 : 200).send({
        key: wanted.key,
        new: isNew,
        state: intent?.state,
        sume_id: intent?.sume_id ?? null,
      })
    } catch (error) {
      if (error instanceof IntentProblem) return problem(reply, 400, error.message)
      if (error instanceof LedgerError && error.code === 'KEY_REUSED')
        return problem(reply, 409, error.message)
      if (!isUnavailable(error)) throw error
      log.error({ error: errorText(error) }, 'intent refused: the ledger cannot take it now')
      return problem(
        reply.header('retry-after', RETRY_AFTER_SECONDS),
        503,
        'the ledger cannot take it now; send the same again',
      )
    }
  })
}

const problem = (reply: FastifyReply, status: number, error: string) =>
  reply.code(status).send({ error })

/** Hashed first, so that the comparison takes the same time whatever was sent. */
function isToken(header: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(
    digest((header ?? '').replace(/^bearer +/i, 'Bearer ')),
    digest(`Bearer ${token}`),
  )
}

const FIELDS = ['key', 'path', 'body', 'kind']

/** What its fields hold is looked at by `reserve`. @throws IntentProblem */
function readSubmit(body: unknown): SubmitRequest {
  const value = readJson(Buffer.isBuffer(body) ? body : Buffer.alloc(0))
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new IntentProblem([`expected a JSON object: ${FIELDS.join(', ')}`])
  const odd = Object.keys(value).filter((field) => !FIELDS.includes(field))
  if (odd.length > 0)
    throw new IntentProblem([
      `unknown field ${odd.slice(0, 5).join(', ')}; expected ${FIELDS.join(', ')} (what Sume is to make goes into body)`,
    ])
  return value as SubmitRequest
}
