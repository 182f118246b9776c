import { isMigrated, type Ledger } from '@sume-inbox/shared/ledger'
import type { Producer } from '@sume-inbox/shared/queues'
import { systemClock } from '@sume-inbox/shared/runtime'
import { type Events, type Logger, probes, type Readiness } from '@sume-inbox/shared/telemetry'
import { fastify, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { ReceiverConfig } from './config.ts'
import { webhookRoute } from './webhook/route.ts'

export interface ReceiverDeps {
  readonly config: ReceiverConfig
  readonly ledger: Ledger
  readonly producer: Producer
  readonly events: Events
  readonly log: Logger
}

/** The receiver: what the world may reach, and what only its operators may. */
export interface Receiver {
  readonly door: FastifyInstance
  readonly internal: FastifyInstance
  /** Listens on both. @returns the ports. */
  listen(): Promise<{ port: number; internalPort: number }>
  /** Answers what is in flight and closes, within `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** A body must arrive within this. */
const BODY_MS = 10_000
/** Longer than the idle time of the usual load balancers, or they would send into a closing connection. */
const KEEP_ALIVE_MS = 72_000

export function buildReceiver(deps: ReceiverDeps): Receiver {
  const { config, ledger, producer, events, log } = deps
  const loggerInstance: FastifyBaseLogger = log
  let closing = false
  const door = fastify({
    loggerInstance,
    disableRequestLogging: true,
    bodyLimit: config.BODY_LIMIT_BYTES,
    requestTimeout: BODY_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: { connectionsCheckingInterval: 1000 },
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true },
  })
  const internal = fastify({ loggerInstance, disableRequestLogging: true })
  const ready = () => readiness(ledger, producer, closing)

  door.addHook('onSend', async (_request, reply) => {
    // A kept-alive connection would hold up the close until its client leaves.
    if (closing) void reply.header('connection', 'close')
  })
  for (const app of [door, internal]) {
    app.setNotFoundHandler(async (_request, reply) => reply.code(404).send({ error: 'not found' }))
    app.setErrorHandler<Error & { statusCode?: number }>(async (error, _request, reply) => {
      const status = error.statusCode ?? 500
      // Words of our own: a driver's text may carry addresses, and a parser's a piece of the body.
      if (status === 413) return reply.code(413).send({ error: 'too large' })
      if (status >= 400 && status < 500) return reply.code(status).send({ error: 'bad request' })
      log.error({ err: error }, 'a request failed by our own fault')
      return reply.code(500).send({ error: 'internal error' })
    })
    probes(app, ready, systemClock)
  }
  void door.register(webhookRoute, {
    signatureHeader: config.SUME_SIGNATURE_HEADER,
    timestampHeader: config.SUME_TIMESTAMP_HEADER,
    deps: {
      ledger,
      producer,
      events,
      now: systemClock,
      rules: {
        secrets: config.SUME_WEBHOOK_SECRETS,
        toleranceSeconds: config.SUME_WEBHOOK_TOLERANCE_SECONDS,
        graceMs: config.ENQUEUE_GRACE_MS,
        quarantineMaxRows: config.QUARANTINE_MAX_ROWS,
      },
    },
  })

  return {
    door,
    internal,
    async listen() {
      await internal.listen({ host: config.INTERNAL_HOST, port: config.INTERNAL_PORT })
      await door.listen({ host: config.HOST, port: config.PORT })
      return { port: portOf(door), internalPort: portOf(internal) }
    },
    async close(graceMs) {
      closing = true
      // A client that never ends its body, or never lets go, must not keep us from ending.
      const cut = setTimeout(() => {
        door.server.closeAllConnections()
        internal.server.closeAllConnections()
      }, graceMs)
      await Promise.all([door.close(), internal.close()])
      clearTimeout(cut)
    },
  }
}

/** MySQL decides: without Redis every delivery is still accepted, only later followed up. */
async function readiness(ledger: Ledger, producer: Producer, closing: boolean): Promise<Readiness> {
  if (closing) return { ready: false, because: 'stopping' }
  const degraded = producer.isUp() ? {} : { degraded: ['redis'] }
  try {
    const migrated = await isMigrated(ledger)
    return migrated
      ? { ready: true, ...degraded }
      : { ready: false, because: 'the database is not migrated', ...degraded }
  } catch {
    return { ready: false, because: 'the database does not answer', ...degraded }
  }
}

function portOf(app: FastifyInstance): number {
  const address = app.server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
