import { errorText } from '@sume-inbox/shared/runtime'
import type { Logger } from '@sume-inbox/shared/telemetry'
import {
  fastify,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  LogController,
} from 'fastify'

export interface ServerOptions {
  readonly log: Logger
  readonly bodyLimit: number
  /** The paths that exist for one method only: any other method is told so. */
  readonly allowed: Readonly<Record<string, string>>
}

/** A request must have arrived whole after so long: a body that never ends would hold its connection for ever. */
const REQUEST_MS = 10_000
/** How often that is looked at. */
const CHECK_MS = 500
/** Longer than what balancers keep an idle connection for (60 s), so that none sends into a closing one. */
const KEEP_ALIVE_MS = 72_000
const NOT_FOUND = { error: 'not found' }

/**
 * An HTTP server whose answers are words of our own: no driver text, no stack, no URL repeated. It logs
 * no request; whoever serves one tells it as an event.
 */
export function buildServer({ log, bodyLimit, allowed }: ServerOptions): FastifyInstance {
  // Of the framework's own lines only those about trouble.
  const loggerInstance: FastifyBaseLogger = log.isLevelEnabled('info')
    ? log.child({}, { level: 'warn' })
    : log
  const app = fastify({
    loggerInstance,
    // A log line with a URL in it would carry whatever somebody put there.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit,
    requestTimeout: REQUEST_MS,
    // Node does not keep to a request timeout that is shorter than the one for headers (60 s by default).
    http: { headersTimeout: REQUEST_MS, connectionsCheckingInterval: CHECK_MS },
    keepAliveTimeout: KEEP_ALIVE_MS,
    // What arrives on an open connection while we close is served like everything before it.
    return503OnClosing: false,
    // A URL that cannot be decoded, which would be repeated to the caller with a 400.
    frameworkErrors: (_error, _request, reply) => {
      void (reply as FastifyReply).code(404).send(NOT_FOUND)
    },
  })

  const refuse = (url: string, reply: FastifyReply) => {
    const allow = allowed[url.split('?', 1)[0] ?? '']
    if (allow === undefined) return reply.code(404).send(NOT_FOUND)
    return reply.code(405).header('allow', allow).send({ error: 'method not allowed' })
  }
  // Before a body is read: nobody needs it.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) refuse(request.url, reply)
    else done()
  })
  app.setNotFoundHandler((request, reply) => refuse(request.url, reply))

  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    if (error.statusCode === 413) {
      log.warn({ limit: bodyLimit }, 'refused a body over BODY_LIMIT_BYTES')
      return reply.code(413).send({ error: 'too large' })
    }
    // A body that was cut off: nobody is left to read the answer.
    if (error.statusCode === 400) return reply.code(400).send({ error: 'broken request' })
    log.error({ error: errorText(error) }, 'a request failed: a bug')
    return reply.code(500).send({ error: 'internal error' })
  })
  return app
}
