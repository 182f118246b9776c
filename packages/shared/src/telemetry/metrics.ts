import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Events } from './events.ts'

/** Where the metrics of one process are kept. */
export type Metrics = Registry

/** Seconds. Deliveries aim at 10 ms and end within 5 s. */
const DELIVERY_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 5]
const ATTEMPT_BUCKETS = [0.01, 0.05, 0.25, 1, 5, 15, 60, 300]

const RECEIPTS = ['accepted', 'duplicate', 'quarantined', 'unsigned', 'unavailable', 'failed']
const OUTCOMES = ['done', 'retry', 'dead', 'snooze', 'lost']
const LOST = ['missing', 'failed', 'completed', 'orphan']

/**
 * Counts what happens inside this process, for Prometheus: the names are in docs/operating.md. Labels
 * come from small fixed sets only, never from ids or event names: those would grow without end.
 */
export function countTelemetry(events: Events): Metrics {
  const registry = new Registry()
  const registers = [registry]

  const deliveries = new Counter({
    name: 'sume_deliveries_total',
    help: 'Deliveries answered, by receipt.',
    labelNames: ['receipt'],
    registers,
  })
  const deliverySeconds = new Histogram({
    name: 'sume_delivery_duration_seconds',
    help: 'Time from a delivery’s arrival to its answer, of those that reached the ledger.',
    buckets: DELIVERY_BUCKETS,
    registers,
  })
  const notEnqueued = new Counter({
    name: 'sume_enqueue_failures_total',
    help: 'First deliveries whose job could not be put into the queue; the sweeper adds them.',
    registers,
  })
  const attempts = new Counter({
    name: 'sume_attempts_total',
    help: 'Attempts of follow-ups ended by this process, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  const attemptSeconds = new Histogram({
    name: 'sume_attempt_duration_seconds',
    help: 'How long attempts took, from claim to settle.',
    buckets: ATTEMPT_BUCKETS,
    registers,
  })
  const refused = new Counter({
    name: 'sume_attempts_refused_total',
    help: 'Jobs whose event the ledger did not let start: another lease is valid, or it is over.',
    registers,
  })
  const leasesLost = new Counter({
    name: 'sume_leases_lost_total',
    help: 'Leases that ran out under a running attempt.',
    registers,
  })
  const swept = new Counter({
    name: 'sume_swept_total',
    help: 'Events that the sweeper put back into the queue, by what had become of their job.',
    labelNames: ['lost'],
    registers,
  })
  const runs = new Counter({
    name: 'sume_service_runs_total',
    help: 'Runs of the services, by outcome.',
    labelNames: ['service', 'outcome'],
    registers,
  })
  const lastRun = new Gauge({
    name: 'sume_service_last_success_timestamp_seconds',
    help: 'When a service last ran without failing.',
    labelNames: ['service'],
    registers,
  })
  const tried = new Counter({
    name: 'sume_submits_total',
    help: 'Tries of paid submits, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  const reconciled = new Counter({
    name: 'sume_reconciled_total',
    help: 'Intents that Sume was asked about, by outcome; first is a missed webhook.',
    labelNames: ['outcome'],
    registers,
  })
  const callsFailed = new Counter({
    name: 'sume_calls_failed_total',
    help: 'Calls to Sume’s API that failed, by their answer’s class.',
    labelNames: ['answer'],
    registers,
  })
  const trouble = new Counter({
    name: 'sume_background_errors_total',
    help: 'Troubles that no caller was waiting for, such as lost connections.',
    labelNames: ['where'],
    registers,
  })

  // A series that begins with its first count has no rate of it: what somebody is woken by is there from the start.
  for (const receipt of RECEIPTS) deliveries.inc({ receipt }, 0)
  for (const outcome of OUTCOMES) attempts.inc({ outcome }, 0)
  for (const lost of LOST) swept.inc({ lost }, 0)

  events.on('delivery:answered', ({ receipt, durationMs }) => {
    deliveries.inc({ receipt })
    if (receipt !== 'unsigned') deliverySeconds.observe(durationMs / 1000)
  })
  events.on('enqueue:failed', () => notEnqueued.inc())
  events.on('attempt:settled', ({ outcome, durationMs }) => {
    attempts.inc({ outcome })
    attemptSeconds.observe(durationMs / 1000)
  })
  events.on('attempt:refused', () => refused.inc())
  events.on('lease:lost', () => leasesLost.inc())
  events.on('event:swept', ({ lost }) => swept.inc({ lost }))
  events.on('intent:tried', ({ outcome }) => tried.inc({ outcome }))
  events.on('intent:reconciled', ({ outcome }) => reconciled.inc({ outcome }))
  events.on('sume:failed', ({ kind, status }) =>
    callsFailed.inc({ answer: kind === 'refused' ? `${String(status).slice(0, 1)}xx` : kind }),
  )
  events.on('service:ran', ({ service }) => {
    runs.inc({ service, outcome: 'ran' })
    lastRun.setToCurrentTime({ service })
  })
  events.on('service:failed', ({ service }) => runs.inc({ service, outcome: 'failed' }))
  events.on('background:error', ({ where }) => trouble.inc({ where }))
  return registry
}

/** Adds what Node knows about its process: CPU, memory, event loop, garbage collection. Once a process. */
export const addProcessMetrics = (metrics: Metrics): void =>
  collectDefaultMetrics({ register: metrics })

/** `GET /metrics`, in Prometheus's text format. For an internal port: it has no login. */
export function metricsRoute(app: FastifyInstance, metrics: Metrics): void {
  app.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.metrics()),
  )
}
