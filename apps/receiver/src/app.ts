import type { AddressInfo } from 'node:net'
import { isMigrated, isUnavailable, type Ledger } from '@sume-inbox/shared/ledger'
import type { Producer } from '@sume-inbox/shared/queues'
import { every, type RunningService, systemClock } from '@sume-inbox/shared/runtime'
import {
  type Events,
  type Logger,
  type Metrics,
  metricsRoute,
  observeServices,
  probes,
  type Readiness,
  watchReadiness,
} from '@sume-inbox/shared/telemetry'
import type { FastifyInstance } from 'fastify'
import type { ReceiverConfig } from './config.ts'
import { buildServer } from './server.ts'
import { openQuarantine } from './webhook/quarantine.ts'
import { receive } from './webhook/receive.ts'
import { WEBHOOK_PATH, webhookRoute } from './webhook/route.ts'

export interface ReceiverDeps {
  readonly config: ReceiverConfig
  readonly ledger: Ledger
  readonly producer: Producer
  readonly events: Events
  readonly metrics: Metrics
  readonly log: Logger
}

/** The public door, and the internal port beside it. */
export interface Receiver {
  listen(): Promise<{ port: number; internalPort: number }>
  /**
   * Takes no new connections and answers what is under way. What has not ended after `withinMs` is cut:
   * a client that never finishes its body would otherwise keep the process for ever.
   */
  close(withinMs: number): Promise<void>
}

export function buildReceiver(deps: ReceiverDeps): Receiver {
  const { config, ledger, producer, events, metrics, log } = deps
  let stopping = false

  const readiness = async (): Promise<Readiness> => {
    if (stopping) return { ready: false, because: 'stopping' }
    const because = await notReadyBecause(ledger)
    const degraded = producer.isUp() ? {} : { degraded: ['redis'] }
    return because === null ? { ready: true, ...degraded } : { ready: false, because, ...degraded }
  }

  const server = (allowed: Record<string, string>) => {
    const app = buildServer({ log, bodyLimit: config.BODY_LIMIT_BYTES, allowed })
    // An answer that leaves its connection open would keep a stopping server from closing.
    app.addHook('onSend', async (_request, reply) => {
      if (stopping) void reply.header('connection', 'close')
    })
    probes(app, readiness, systemClock)
    return app
  }
  const door = server({ [WEBHOOK_PATH]: 'POST' })
  const internal = server({})
  metricsRoute(internal, metrics)

  const receiveDeps = {
    ledger,
    producer,
    events,
    quarantine: openQuarantine(ledger, config.QUARANTINE_MAX_ROWS, events),
    rules: {
      secrets: config.SUME_WEBHOOK_SECRETS,
      toleranceSeconds: config.SUME_WEBHOOK_TOLERANCE_SECONDS,
      graceMs: config.ENQUEUE_GRACE_MS,
    },
  }
  void door.register(webhookRoute, {
    receive: (delivery) => receive(receiveDeps, delivery),
    events,
    signatureHeader: config.SUME_SIGNATURE_HEADER,
    timestampHeader: config.SUME_TIMESTAMP_HEADER,
    now: systemClock,
  })

  let watch: RunningService | undefined
  return {
    async listen() {
      await internal.listen({ host: config.INTERNAL_HOST, port: config.INTERNAL_PORT })
      await door.listen({ host: config.HOST, port: config.PORT })
      watch = every(watchReadiness(readiness, events), observeServices(events), () => 0)
      return { port: portOf(door), internalPort: portOf(internal) }
    },
    async close(withinMs) {
      stopping = true
      // Not waited for: its look at a frozen database may take as long as any statement.
      void watch?.stop()
      await Promise.all([door, internal].map((app) => closeWithin(app, withinMs)))
    },
  }
}

async function notReadyBecause(ledger: Ledger): Promise<string | null> {
  try {
    return (await isMigrated(ledger)) ? null : 'the database is not migrated'
  } catch (error) {
    if (isUnavailable(error)) return 'the database is out of reach'
    throw error
  }
}

async function closeWithin(app: FastifyInstance, ms: number): Promise<void> {
  const cut = setTimeout(() => app.server.closeAllConnections(), ms)
  await app.close()
  clearTimeout(cut)
}

const portOf = (app: FastifyInstance) => (app.server.address() as AddressInfo).port
