import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { catalog } from './api/catalog.ts'
import { jobs } from './api/jobs.ts'
import { submits } from './api/submits.ts'
import type { SandboxConfig } from './config.ts'
import { control } from './control.ts'
import { makeDeliverer } from './deliverer.ts'
import { sendError } from './errors.ts'
import { failAfter, failBefore, type Fault, makeFaults } from './faults.ts'
import { makeLifecycle } from './lifecycle.ts'
import { makeStore } from './store.ts'

export interface Sandbox {
  readonly app: FastifyInstance
  /** Stops jobs and deliveries where they are, and closes. */
  close(): Promise<void>
}

/** A fake Sume. Everything is in memory and gone with the process. */
export function buildSandbox(config: SandboxConfig, log: Logger): Sandbox {
  const store = makeStore(() => new Date())
  const faults = makeFaults()
  const deliverer = makeDeliverer({
    secret: config.SUME_WEBHOOK_SECRETS[0] ?? '',
    signatureHeader: config.SUME_SIGNATURE_HEADER,
    timestampHeader: config.SUME_TIMESTAMP_HEADER,
    retryBaseMs: config.SANDBOX_RETRY_BASE_MS,
    log,
  })
  const lifecycle = makeLifecycle(deliverer)
  const app = fastify({ forceCloseConnections: true, bodyLimit: 8 * 1024 * 1024 })
  const chosen = new WeakMap<FastifyRequest, Fault>()

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setNotFoundHandler(async (_request, reply) =>
    sendError(reply, {
      status: 404,
      code: 'not_found',
      message: 'there is no such call',
      retryable: false,
    }),
  )
  app.setErrorHandler<Error & { statusCode?: number }>(async (error, _request, reply) => {
    const status = error.statusCode ?? 500
    if (status >= 500) log.error({ err: error }, 'the sandbox failed')
    return sendError(reply, {
      status,
      code: status >= 500 ? 'internal_error' : 'bad_request',
      message: error.message,
    })
  })
  app.addHook('preHandler', async (request, reply) => {
    if (request.url.startsWith('/_sandbox/') || request.url.startsWith('/health/')) return
    const fault = faults.take(request.method, request.url)
    if (fault !== undefined) {
      if (await failBefore(fault, request, reply)) return reply
      chosen.set(request, fault)
    }
    if (request.url.startsWith('/v1/open/') || hasKey(request)) return
    return sendError(reply, {
      status: 401,
      code: 'unauthorized',
      message: 'give a key',
      retryable: false,
    })
  })
  app.addHook('onSend', async (request) => {
    const fault = chosen.get(request)
    if (fault !== undefined) await failAfter(fault, request)
  })
  app.get('/health/live', async () => ({ status: 'live' }))
  void app.register(submits, { store, lifecycle, httpHosts: config.SANDBOX_HTTP_HOSTS })
  void app.register(jobs, { store, lifecycle })
  void app.register(catalog)
  void app.register(control, { store, deliverer, faults })

  return {
    app,
    async close() {
      lifecycle.stop()
      await deliverer.stop()
      await app.close()
    },
  }
}

/** Any key will do; none will not. */
const hasKey = ({ headers }: FastifyRequest): boolean =>
  /^Bearer \S+$/.test(headers.authorization ?? '') ||
  (typeof headers['x-api-key'] === 'string' && headers['x-api-key'] !== '')
