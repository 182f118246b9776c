import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import helmet from '@fastify/helmet'
import { errorText } from '@sume-inbox/shared/runtime'
import type { Logger } from '@sume-inbox/shared/telemetry'
import {
  fastify,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  LogController,
} from 'fastify'
import { isLook, isSameOrigin } from './login/same-origin.ts'
import { STYLE_HASH } from './pages/layout.ts'

/** A request must have arrived whole after so long. */
const REQUEST_MS = 10_000
/** How often that is looked at. */
const CHECK_MS = 500
/** Longer than what balancers keep an idle connection for (60 s), so that none sends into a closing one. */
const KEEP_ALIVE_MS = 72_000
/** Forms and Bull Board's changes are small. */
const BODY_LIMIT = 64 * 1024
/** Only a neighbour can be a proxy of ours, so that only a neighbour is believed about whom it asks for. */
const PROXIES = 'loopback, linklocal, uniquelocal'

const NOT_FOUND = { error: 'not found' }

/** An HTTP server with what every answer and every change of the console needs. */
export async function buildServer(log: Logger, cookieKey: string): Promise<FastifyInstance> {
  // Of the framework's own lines only those about trouble.
  const loggerInstance: FastifyBaseLogger = log.isLevelEnabled('info')
    ? log.child({}, { level: 'warn' })
    : log
  const app = fastify({
    loggerInstance,
    // A log line with a URL in it would carry whatever somebody put there.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_MS,
    // Node does not keep to a request timeout that is shorter than the one for headers (60 s by default).
    http: { headersTimeout: REQUEST_MS, connectionsCheckingInterval: CHECK_MS },
    keepAliveTimeout: KEEP_ALIVE_MS,
    // What arrives on an open connection while we close is served like everything before it.
    return503OnClosing: false,
    trustProxy: PROXIES,
    frameworkErrors: (_error, _request, reply) => {
      void (reply as FastifyReply).code(404).send(NOT_FOUND)
    },
  })
  app.decorateRequest('role')
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(NOT_FOUND))
  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    const status = error.statusCode ?? 500
    if (status < 500) return reply.code(status).send({ error: 'broken request' })
    log.error({ error: errorText(error) }, 'a request failed: a bug')
    return reply.code(500).send({ error: 'internal error' })
  })

  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'style-src': [STYLE_HASH],
        'form-action': ["'self'"],
        'base-uri': ["'none'"],
        'frame-ancestors': ["'none'"],
      },
    },
    // Whether a whole host is for HTTPS only is for its proxy to say.
    strictTransportSecurity: false,
    referrerPolicy: { policy: 'same-origin' },
  })
  app.addHook('onRequest', async (request, reply) => {
    if (isLook(request.method)) return
    const { origin, 'sec-fetch-site': site } = request.headers
    if (isSameOrigin({ origin, site: site?.toString(), host: request.host })) return
    log.warn({ address: request.ip }, 'refused a change that another site asked for')
    return reply.code(403).send({ error: 'changes are taken from the pages of this console only' })
  })
  await app.register(cookie, { secret: cookieKey })
  await app.register(formbody)
  return app
}
