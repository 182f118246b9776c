import { elapsedMs } from '@sume-inbox/shared/runtime'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Receipt } from './receipt.ts'
import { receive, type ReceiveDeps } from './receive.ts'

export interface WebhookRouteOptions {
  readonly deps: ReceiveDeps
  readonly signatureHeader: string
  readonly timestampHeader: string
}

const PATH = '/webhooks/sume'
/** When to try again after a 503, in seconds. */
const RETRY_AFTER = '5'

/** `POST /webhooks/sume`, in a scope of its own: here every body is bytes, whatever its content type. */
export async function webhookRoute(
  app: FastifyInstance,
  options: WebhookRouteOptions,
): Promise<void> {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', async (request) => {
    // A malformed type would be refused with 415 before any parser sees it, and Sume would repeat it for ever.
    request.headers['content-type'] = 'application/octet-stream'
  })

  app.post(PATH, async (request, reply) => {
    const start = performance.now()
    const receipt = await receive(options.deps, {
      body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
      headers: {
        timestamp: valuesOf(request, options.timestampHeader),
        signature: valuesOf(request, options.signatureHeader),
      },
    })
    const status = answer(reply, receipt)
    options.deps.events.emit('delivery:answered', {
      ...receipt,
      status,
      durationMs: elapsedMs(start),
    })
    return reply
  })
  app.route({
    method: ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: PATH,
    handler: async (_request, reply) =>
      reply.code(405).header('allow', 'POST').send({ error: 'method not allowed' }),
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
