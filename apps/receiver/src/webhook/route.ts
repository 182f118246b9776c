import { toError } from '@sume-inbox/shared/runtime'
import type { Events, InboxEvents } from '@sume-inbox/shared/telemetry'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Receipt } from './receipt.ts'
import type { Delivery } from './receive.ts'

export interface WebhookRouteOptions {
  readonly receive: (delivery: Delivery) => Promise<Receipt>
  readonly events: Events
  readonly signatureHeader: string
  readonly timestampHeader: string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export const WEBHOOK_PATH = '/webhooks/sume'
type Answered = InboxEvents['delivery:answered'][0]

/** When to try again after a 503, in seconds. */
const RETRY_AFTER = '5'

/** `POST /webhooks/sume`, in a scope of its own: here every body is bytes, whatever its content type. */
export async function webhookRoute(
  app: FastifyInstance,
  options: WebhookRouteOptions,
): Promise<void> {
  const { receive, events } = options
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', async (request) => {
    // A malformed type would be refused with 415 before any parser sees it, and Sume would repeat it for
    // ever; and without a type, a body that is not there would not be read as an empty one.
    request.headers['content-type'] = 'application/octet-stream'
  })

  app.post(WEBHOOK_PATH, async (request, reply) => {
    const answered = (what: Omit<Answered, 'durationMs'>) =>
      events.emit('delivery:answered', { ...what, durationMs: Math.round(reply.elapsedTime) })
    try {
      const receipt = await receive({
        body: request.body as Buffer,
        headers: {
          timestamp: valuesOf(request, options.timestampHeader),
          signature: valuesOf(request, options.signatureHeader),
        },
        at: options.now(),
      })
      answered({ ...receipt, status: answer(reply, receipt) })
    } catch (error) {
      void reply.code(500).send({ error: 'internal error' })
      answered({ receipt: 'failed', status: 500, error: toError(error) })
    }
    return reply
  })
}

/** Every value of a header: Node's joined form would hide that it came twice. */
const valuesOf = (request: FastifyRequest, name: string): string[] =>
  request.raw.headersDistinct[name] ?? []

/** Sends the receipt. @returns the status. */
function answer(reply: FastifyReply, receipt: Receipt): number {
  const send = (status: number, body: object) => {
    void reply.code(status).send(body)
    return status
  }
  switch (receipt.receipt) {
    case 'accepted':
    case 'duplicate':
      return send(200, { receipt: receipt.receipt })
    case 'quarantined':
      return send(202, { receipt: receipt.receipt })
    case 'unsigned':
      // One answer for all: what exactly was wrong helps only who guesses.
      return send(401, { error: 'not signed' })
    case 'unavailable':
      void reply.header('retry-after', RETRY_AFTER)
      return send(503, { error: 'unavailable' })
  }
}
