import { parseEnvelope } from '@sume-inbox/shared/envelope'
import type { FollowUps } from '@sume-inbox/shared/follow-ups'
import {
  type EventSummary,
  findEvents,
  type Ledger,
  recordDelivery,
} from '@sume-inbox/shared/ledger'
import {
  jobId,
  openProducer,
  openRestorer,
  QUEUE_NAME,
  workerConnection,
} from '@sume-inbox/shared/queues'
import { countTelemetry, type InboxEvents, makeEvents, openLog } from '@sume-inbox/shared/telemetry'
import { jobBody, openTestDatabase, servers, testPrefix, waitFor } from '@sume-inbox/testing'
import { Queue } from 'bullmq'
import { startWorker } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { openSumeClient } from '../src/sume-client.ts'

type Rows = Record<string, unknown>[]

/** A database and a queue of a test's own, with events to put in and workers to start on them. */
export interface Bench {
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly prefix: string
  readonly ledger: Ledger
  readonly queue: Queue
  readonly redis: ReturnType<typeof workerConnection>
  /** An event as the receiver takes it in. @returns its dedupe key. */
  record(fields?: Parameters<typeof jobBody>[0] & { graceMs?: number }): Promise<string>
  /** `record`, and into the queue. */
  add(fields?: Parameters<typeof jobBody>[0]): Promise<string>
  enqueue(dedupeKey: string): Promise<void>
  row(dedupeKey: string): Promise<EventSummary>
  reached(dedupeKey: string, state: EventSummary['state']): Promise<EventSummary>
  /** The attempts that did not end in `done`, in order. */
  attempts(dedupeKey: string): Promise<Rows>
  rows(sql: string, values?: unknown[]): Promise<Rows>
  /** State of the event's job in the queue. */
  jobState(dedupeKey: string): Promise<string>
  /** Starts a worker in this process. Sweeps are far off unless asked for: what happens, the queue does alone. */
  startWorker(followUps: FollowUps, settings?: Record<string, string>): Promise<BenchWorker>
  restorer(): ReturnType<typeof openRestorer>
  [Symbol.asyncDispose](): Promise<void>
}

interface BenchWorker {
  readonly internalUrl: string
  /** Every event of this name so far. */
  seen<N extends keyof InboxEvents>(name: N): InboxEvents[N][0][]
  stop(): Promise<void>
}

export async function openBench(
  on: { databaseUrl?: string; redisUrl?: string } = {},
): Promise<Bench> {
  const database = await openTestDatabase(
    on.databaseUrl === undefined ? {} : { serverUrl: on.databaseUrl },
  )
  const { ledger } = database
  await ledger.query(
    'CREATE TABLE effects (id VARCHAR(68) PRIMARY KEY, times INT NOT NULL DEFAULT 1)',
  )
  await ledger.query('CREATE TABLE runs (id VARCHAR(68), attempt INT, pid INT, KEY (id))')
  const redisUrl = on.redisUrl ?? servers().redisUrl
  const prefix = testPrefix()
  const ignore = () => undefined
  const queueOptions = { redisUrl, prefix, maxAttempts: 10, onError: ignore }
  const producer = openProducer(queueOptions)
  const restorer = openRestorer(queueOptions)
  const redis = workerConnection(redisUrl, ignore)
  const queue = new Queue(QUEUE_NAME, { connection: redis, prefix })
  queue.on('error', ignore)
  const workers: BenchWorker[] = []

  const row = async (dedupeKey: string) => {
    const [found] = await findEvents(ledger, dedupeKey)
    if (found === undefined) throw new Error(`no event ${dedupeKey}`)
    return found
  }
  const rows = async (sql: string, values: unknown[] = []) => {
    const [found] = await ledger.query(sql, values)
    return found as unknown as Rows
  }
  const record: Bench['record'] = async ({ graceMs = 60_000, ...fields } = {}) => {
    const { body } = jobBody(fields)
    const parsed = parseEnvelope(body)
    if (!parsed.readable) throw new Error(parsed.reason)
    const { envelope } = parsed
    await recordDelivery(ledger, { envelope, raw: body, source: 'webhook', graceMs })
    return envelope.dedupeKey
  }
  const enqueue = async (dedupeKey: string) => {
    const { status } = await row(dedupeKey)
    await producer.enqueue({ dedupeKey, status })
  }

  return {
    databaseUrl: database.url,
    redisUrl,
    prefix,
    ledger,
    queue,
    redis,
    record,
    enqueue,
    async add(fields) {
      const dedupeKey = await record(fields)
      await enqueue(dedupeKey)
      return dedupeKey
    },
    row,
    rows,
    reached: (dedupeKey, state) =>
      waitFor(`${dedupeKey} to be ${state}`, async () => {
        const found = await row(dedupeKey)
        return found.state === state && found
      }),
    attempts: (dedupeKey) =>
      rows('SELECT * FROM sume_attempts WHERE dedupe_key = ? ORDER BY ended_at, attempt', [
        dedupeKey,
      ]),
    jobState: (dedupeKey) => queue.getJobState(jobId(dedupeKey)),
    restorer: () => restorer,
    async startWorker(followUps, settings = {}) {
      const config = readConfig({
        DATABASE_URL: database.url,
        REDIS_URL: redisUrl,
        QUEUE_PREFIX: prefix,
        FOLLOW_UPS: 'given by the test',
        INTERNAL_PORT: '0',
        BACKOFF_MS: '20',
        SWEEP_EVERY_MS: '3600000',
        ...settings,
      })
      const events = makeEvents()
      const seen = new Map<string, unknown[]>()
      const worker = await startWorker(
        {
          // The bench's own ledger stays open when a worker stops.
          ledger: { ...ledger, close: () => Promise.resolve() },
          restorer: { ...restorer, close: () => Promise.resolve() },
          followUps,
          client: openSumeClient(config, events),
          events: recording(events, seen),
          metrics: countTelemetry(events),
          log: openLog('worker', 'silent'),
          worker: 'test:1',
        },
        config,
      )
      const started: BenchWorker = {
        internalUrl: `http://127.0.0.1:${worker.internalPort}`,
        seen: (name) => (seen.get(name) ?? []) as never,
        stop: () => worker.stop(),
      }
      workers.push(started)
      return started
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map((worker) => worker.stop()))
      await producer.close()
      await restorer.close()
      await queue.close().catch(ignore)
      redis.disconnect()
      await database.drop()
    },
  }
}

function recording(events: ReturnType<typeof makeEvents>, seen: Map<string, unknown[]>) {
  const names: (keyof InboxEvents)[] = [
    'attempt:started',
    'attempt:settled',
    'attempt:refused',
    'lease:lost',
    'event:swept',
    'intent:tried',
    'intent:reconciled',
    'sume:failed',
    'service:ran',
    'service:failed',
    'background:error',
  ]
  for (const name of names) {
    events.on(name, (said: unknown) => {
      seen.set(name, [...(seen.get(name) ?? []), said])
    })
  }
  return events
}
