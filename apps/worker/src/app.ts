import type { AddressInfo } from 'node:net'
import type { FollowUps } from '@sume-inbox/shared/follow-ups'
import { isMigrated, type Ledger } from '@sume-inbox/shared/ledger'
import type { Restorer } from '@sume-inbox/shared/queues'
import type { SumeClient } from '@sume-inbox/shared/sume'
import {
  every,
  type RunningService,
  type Service,
  systemClock,
  withDeadline,
} from '@sume-inbox/shared/runtime'
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
import { intentsRoute } from './intents-route.ts'
import { makeReaper } from './services/reaper.ts'
import { makeReconciler } from './services/reconciler.ts'
import { makeSubmitters } from './services/submitter.ts'
import { makeSweeper } from './services/sweeper.ts'

export interface WorkerDeps {
  readonly ledger: Ledger
  readonly restorer: Restorer
  readonly followUps: FollowUps
  /** `null`: without an API key nothing is submitted and nobody is asked. */
  readonly client: SumeClient | null
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
  const { ledger, restorer, followUps, client, events, metrics, log, worker } = deps
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
    ...(client === null ? [] : intentServices(client)),
  ].map((service) => every(service, observeServices(events)))

  probes(internal, readiness, systemClock)
  ledgerGauges(metrics, ledger, events, systemClock)
  queueGauges(metrics, restorer, events)
  metricsRoute(internal, metrics)
  if (config.INTENTS_TOKEN !== undefined) {
    await internal.register(intentsRoute, {
      ledger,
      log,
      token: config.INTENTS_TOKEN,
      webhookUrl: config.SUME_WEBHOOK_URL,
    })
  }
  await internal.listen({ host: config.INTERNAL_HOST, port: config.INTERNAL_PORT })

  function intentServices(sume: SumeClient): Service[] {
    const submitters = makeSubmitters(
      { ledger, client: sume, events },
      {
        concurrency: config.SUBMIT_CONCURRENCY,
        perSecond: config.SUBMIT_PER_SECOND,
        backoff,
        pollAfterMs: config.RECONCILE_AFTER_MS,
        stopping: stopping.signal,
      },
    )
    const reconciler = makeReconciler(
      { ledger, client: sume, restorer, events },
      {
        afterMs: config.RECONCILE_AFTER_MS,
        horizonMs: config.RECONCILE_HORIZON_MS,
        perSecond: config.RECONCILE_PER_SECOND,
        graceMs: config.ENQUEUE_GRACE_MS,
      },
    )
    return [...submitters, reconciler]
  }

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
