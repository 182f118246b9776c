import type { AddressInfo } from 'node:net'
import type { FollowUps } from '@sume-inbox/shared/follow-ups'
import { isMigrated, type Ledger } from '@sume-inbox/shared/ledger'
import type { Restorer } from '@sume-inbox/shared/queues'
import { every, type RunningService, systemClock, withDeadline } from '@sume-inbox/shared/runtime'
import {
  type Events,
  ledgerGauges,
  type Logger,
  type Metrics,
  metricsRoute,
  observeServices,
  probes,
  queueGauges,
  type Readiness,
  watchReadiness,
} from '@sume-inbox/shared/telemetry'
import Fastify from 'fastify'
import type { WorkerConfig } from './config.ts'
import { openConsumer } from './consumer.ts'
import { makeProcessor } from './processor.ts'
import { makeReaper } from './services/reaper.ts'
import { makeSweeper } from './services/sweeper.ts'

export interface WorkerDeps {
  readonly ledger: Ledger
  readonly restorer: Restorer
  readonly followUps: FollowUps
  readonly events: Events
  readonly metrics: Metrics
  readonly log: Logger
  /** This process, for people: printable ASCII. */
  readonly worker: string
}

/** A running worker: the consumer, its services and the internal port. */
export interface RunningWorker {
  readonly internalPort: number
  /** Stops intake, lets what runs finish, then tells it to stop. @returns within `STOP_GRACE_MS`. */
  stop(): Promise<void>
}

/** Of the grace, what running follow-ups get before their signal aborts, and what they then have to settle. */
const FINISH = 0.6
const SETTLE = 0.2
/** The rest, for closing connections. */
const CLOSE = 0.15

/** Starts everything. Redis and MySQL may be down: each part goes on by itself when they come. */
export async function startWorker(deps: WorkerDeps, config: WorkerConfig): Promise<RunningWorker> {
  const { ledger, restorer, followUps, events, metrics, log, worker } = deps
  const stopping = new AbortController()
  const backoff = { baseMs: config.BACKOFF_MS, capMs: config.BACKOFF_CAP_MS }
  const process = makeProcessor(
    { ledger, followUps, events, log, stopping: stopping.signal },
    {
      worker,
      backoff,
      maxAttempts: config.MAX_ATTEMPTS,
      maxSnoozes: config.MAX_SNOOZES,
      leaseMs: config.LEASE_MS,
      timeoutMs: config.ATTEMPT_TIMEOUT_MS,
      graceMs: config.ENQUEUE_GRACE_MS,
    },
  )
  const internal = Fastify({ logger: false })
  const consumer = openConsumer(process, {
    redisUrl: config.REDIS_URL,
    prefix: config.QUEUE_PREFIX,
    concurrency: config.WORKER_CONCURRENCY,
    maxAttempts: config.MAX_ATTEMPTS,
    backoff,
    events,
    clock: systemClock,
  })
  let ending = false
  const readiness = async (): Promise<Readiness> => {
    if (ending) return { ready: false, because: 'stopping' }
    if (!consumer.isRunning()) return { ready: false, because: 'the consumer is not running' }
    const migrated = await isMigrated(ledger).catch(() => null)
    if (migrated === null) return { ready: false, because: 'MySQL is out of reach' }
    if (!migrated) return { ready: false, because: 'the database is not migrated' }
    return { ready: true, ...(consumer.isRedisUp() ? {} : { degraded: ['redis'] }) }
  }
  // In start order.
  const services: RunningService[] = [
    makeSweeper({ ledger, restorer, events }, config.SWEEP_EVERY_MS),
    makeReaper(ledger, {
      payloadDays: config.RETAIN_PAYLOAD_DAYS,
      keyDays: config.RETAIN_KEY_DAYS,
    }),
    watchReadiness(readiness, events),
  ].map((service) => every(service, observeServices(events)))

  probes(internal, readiness, systemClock)
  ledgerGauges(metrics, ledger, events, systemClock)
  queueGauges(metrics, restorer, events)
  metricsRoute(internal, metrics)
  await internal.listen({ host: config.INTERNAL_HOST, port: config.INTERNAL_PORT })

  const within = (work: Promise<unknown>, share: number, what: string) =>
    withDeadline(work, share * config.STOP_GRACE_MS, what).catch(() => undefined)

  return {
    internalPort: (internal.server.address() as AddressInfo).port,
    async stop() {
      ending = true
      const drained = Promise.all([consumer.drain(), ...services.map((service) => service.stop())])
      await within(drained, FINISH, 'finishing attempts')
      stopping.abort(new Error('shutting down'))
      await within(drained, SETTLE, 'settling attempts')
      const closing = [consumer.close(), restorer.close(), internal.close(), ledger.close()]
      await within(Promise.all(closing), CLOSE, 'closing connections')
    },
  }
}
