import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { signDelivery } from '@sume-inbox/shared/sume'
import {
  type AppProcess,
  openTestDatabase,
  servers,
  startApp,
  TEST_SECRET,
  type TestDatabase,
  testPrefix,
} from '@sume-inbox/testing'
import { Redis } from 'ioredis'

/** A receiver process on a database and a queue of its own. */
export interface Door extends AsyncDisposable {
  readonly process: AppProcess
  readonly url: string
  readonly database: TestDatabase
  readonly env: Record<string, string>
  /** Another receiver process beside it, on the same database and queue. */
  another(extra?: Record<string, string>): Promise<AppProcess>
  /** The rows of `sume_events`, all or those of one job or run. */
  rows(sumeId?: string): Promise<EventRow[]>
  quarantined(): Promise<{ body: Buffer; reason: string; count: number }[]>
  /** The dedupe keys of the jobs in the queue. */
  queued(): Promise<string[]>
}

interface EventRow {
  readonly dedupe_key: string
  readonly kind: string
  readonly request_id: string | null
  readonly status: string
  readonly state: string
  readonly payload: string
  readonly deliveries: number
  readonly diverged: number
}

export interface DoorOptions {
  readonly databaseUrl?: string
  readonly redisUrl?: string
  readonly migrated?: boolean
  readonly env?: Record<string, string>
}

export async function openDoor(options: DoorOptions = {}): Promise<Door> {
  const redisUrl = options.redisUrl ?? servers().redisUrl
  const prefix = testPrefix()
  const database = await openTestDatabase({
    serverUrl: options.databaseUrl ?? servers().databaseUrl,
    migrated: options.migrated ?? true,
  })
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: redisUrl,
    QUEUE_PREFIX: prefix,
    SUME_WEBHOOK_SECRETS: TEST_SECRET,
    ...options.env,
  }
  const processes: AppProcess[] = []
  const another = async (extra: Record<string, string> = {}) => {
    const process = await startApp('receiver', { ...env, ...extra })
    processes.push(process)
    return process
  }
  const process = await another()
  const select = async <Row>(sql: string, values: string[] = []): Promise<Row[]> =>
    (await database.ledger.query(sql, values))[0] as unknown as Row[]
  return {
    process,
    url: process.url,
    database,
    env,
    another,
    rows: (sumeId) =>
      sumeId === undefined
        ? select('SELECT * FROM sume_events')
        : select('SELECT * FROM sume_events WHERE sume_id = ?', [sumeId]),
    quarantined: () => select('SELECT body, reason, count FROM sume_quarantine'),
    async queued() {
      const redis = new Redis(redisUrl)
      try {
        const keys = await redis.keys(`${prefix}:follow-ups:evt-*`)
        const data = await Promise.all(keys.map((key) => redis.hget(key, 'data')))
        return data.map((json) => (JSON.parse(json ?? '{}') as { dedupeKey: string }).dedupeKey)
      } finally {
        redis.disconnect()
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((one) => one[Symbol.asyncDispose]()))
      await database.drop()
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: unknown
  readonly ms: number
}

/** One HTTP request with exactly these headers; a list sends a header several times. */
export function ask(
  url: string,
  options: {
    method?: string
    path?: string
    headers?: Record<string, string | string[]>
    body?: Buffer
    /** Without a Content-Length. */
    chunked?: boolean
  } = {},
): Promise<Answer> {
  const { method = 'POST', path = '/webhooks/sume', headers = {}, body, chunked = false } = options
  const start = performance.now()
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: text === '' ? undefined : JSON.parse(text),
          ms: performance.now() - start,
        })
      })
    })
    asked.on('error', reject)
    if (chunked) asked.flushHeaders()
    if (body !== undefined && chunked) asked.write(body)
    asked.end(chunked ? undefined : body)
  })
}

/** A signature's two headers, made now or `ageSeconds` ago. */
export const signed = (body: Buffer, ageSeconds = 0, secret = TEST_SECRET) =>
  signDelivery(body, secret, nowSeconds() - ageSeconds) as {
    'x-sume-timestamp': string
    'x-sume-signature': string
  }

export const nowSeconds = () => Math.floor(Date.now() / 1000)

export const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')
