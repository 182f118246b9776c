import { mkdtempSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnvelope } from '@sume-inbox/shared/envelope'
import {
  type EventSummary,
  findEvents,
  type Ledger,
  listReplays,
  recordDelivery,
} from '@sume-inbox/shared/ledger'
import { jobId, openBoardQueue, openProducer } from '@sume-inbox/shared/queues'
import {
  type AppProcess,
  jobBody,
  openTestDatabase,
  servers,
  startApp,
  testPrefix,
  waitFor,
} from '@sume-inbox/testing'

export const OPERATOR = 'operator-password'
export const VIEWER = 'viewer-password'
export const MAX_ATTEMPTS = 3

/** A console process on a database and a queue of its own, and what it shows. */
export interface Room extends AsyncDisposable {
  readonly console: AppProcess
  readonly url: string
  /** What all its processes are given. */
  readonly env: { DATABASE_URL: string; REDIS_URL: string; QUEUE_PREFIX: string }
  readonly ledger: Ledger
  readonly queue: ReturnType<typeof openBoardQueue>['queue']
  /** Another console process beside it, on the same database and queue. */
  another(extra?: Record<string, string>): Promise<AppProcess>
  /** A worker process whose follow-ups fail until `mend` is called. */
  startWorker(): Promise<AppProcess>
  mend(): void
  /** Takes in an event as the receiver does. @returns its dedupe key. */
  add(fields?: Parameters<typeof jobBody>[0]): Promise<string>
  /** Events whose follow-up has failed for the last time, with their jobs in the queue. */
  deadEvents(count: number): Promise<string[]>
  row(dedupeKey: string): Promise<EventSummary>
  reached(dedupeKey: string, state: EventSummary['state']): Promise<EventSummary>
  jobState(dedupeKey: string): Promise<string>
  /** Everything that the ledger knows of people's acts on the event. */
  replays(dedupeKey: string): ReturnType<typeof listReplays>
}

export interface RoomOptions {
  readonly redisUrl?: string
  readonly databaseUrl?: string
  readonly env?: Record<string, string>
}

export async function openRoom(options: RoomOptions = {}): Promise<Room> {
  const database = await openTestDatabase(
    options.databaseUrl === undefined ? {} : { serverUrl: options.databaseUrl },
  )
  const { ledger } = database
  const redisUrl = options.redisUrl ?? servers().redisUrl
  const prefix = testPrefix()
  const mended = join(mkdtempSync(join(tmpdir(), 'mended-')), 'mended')
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: redisUrl,
    QUEUE_PREFIX: prefix,
    MAX_ATTEMPTS: String(MAX_ATTEMPTS),
  }
  const processes: AppProcess[] = []
  const start = async (app: string, extra: Record<string, string>) => {
    const process = await startApp(app, { ...env, ...extra })
    processes.push(process)
    return process
  }
  const another = (extra: Record<string, string> = {}) =>
    start('console', {
      CONSOLE_PASSWORD: OPERATOR,
      CONSOLE_VIEWER_PASSWORD: VIEWER,
      ...options.env,
      ...extra,
    })
  const onError = () => undefined
  const board = openBoardQueue({ redisUrl, prefix, onError })
  const producer = openProducer({ redisUrl, prefix, maxAttempts: MAX_ATTEMPTS, onError })
  const console = await another()

  const row = async (dedupeKey: string) => {
    const [found] = await findEvents(ledger, dedupeKey)
    if (found === undefined) throw new Error(`no event ${dedupeKey}`)
    return found
  }
  const room: Room = {
    console,
    url: console.url,
    env,
    ledger,
    queue: board.queue,
    another,
    startWorker: () =>
      start('worker', {
        FOLLOW_UPS: join(import.meta.dirname, 'fixtures/follow-ups.ts'),
        MENDED: mended,
        BACKOFF_MS: '20',
        // What happens, the queue does alone.
        SWEEP_EVERY_MS: '3600000',
        ENQUEUE_GRACE_MS: '3600000',
      }),
    mend: () => writeFileSync(mended, ''),
    async add(fields) {
      const { body } = jobBody(fields)
      const parsed = parseEnvelope(body)
      if (!parsed.readable) throw new Error(parsed.reason)
      const { envelope } = parsed
      await recordDelivery(ledger, { envelope, raw: body, source: 'webhook', graceMs: 3_600_000 })
      await producer.enqueue({ dedupeKey: envelope.dedupeKey, status: envelope.status })
      return envelope.dedupeKey
    },
    async deadEvents(count) {
      const keys = await Promise.all(Array.from({ length: count }, () => room.add()))
      for (const key of keys) {
        await room.reached(key, 'dead')
        await waitFor('its job to fail', async () => (await room.jobState(key)) === 'failed')
      }
      return keys
    },
    row,
    reached: (dedupeKey, state) =>
      waitFor(`${dedupeKey} to be ${state}`, async () => {
        const found = await row(dedupeKey)
        return found.state === state && found
      }),
    jobState: (dedupeKey) => board.queue.getJobState(jobId(dedupeKey)),
    replays: (dedupeKey) => listReplays(ledger, dedupeKey, 100),
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((process) => process[Symbol.asyncDispose]()))
      await producer.close()
      await board.close()
      await database.drop()
    },
  }
  return room
}

export interface Answer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
}

interface Ask {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly form?: Record<string, string>
  readonly json?: unknown
  readonly cookie?: string
}

/** One HTTP request with exactly these headers, on a connection of its own; no redirect is followed. */
export function ask(url: string, path: string, options: Ask = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, form, json, cookie } = options
  const body =
    form !== undefined
      ? new URLSearchParams(form).toString()
      : json !== undefined
        ? JSON.stringify(json)
        : undefined
  const type =
    form !== undefined
      ? 'application/x-www-form-urlencoded'
      : json !== undefined
        ? 'application/json'
        : undefined
  return new Promise((resolve, reject) => {
    const asked = request(
      `${url}${path}`,
      {
        method,
        agent: false,
        headers: {
          ...(type === undefined ? {} : { 'content-type': type }),
          ...(cookie === undefined ? {} : { cookie }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })
}

/** What a browser says of a change that one of the console's own pages asks for. */
export const OURS = { 'sec-fetch-site': 'same-origin' }

let addresses = 0
/** From an address that no other test tries from: the console believes its neighbours about that. */
export const elsewhere = () => ({ 'x-forwarded-for': `198.51.100.${(addresses += 1)}` })

/** Sends the login form. */
export const tryLogin = (
  url: string,
  password: string,
  options: { headers?: Record<string, string>; to?: string; base?: string } = {},
): Promise<Answer> =>
  ask(url, `${options.base ?? '/'}login`, {
    method: 'POST',
    headers: { ...OURS, ...options.headers },
    form: { password, ...(options.to === undefined ? {} : { to: options.to }) },
  })

/** The `name=value` of the session cookie that the answer sets. */
export function cookieOf(answer: Answer): string {
  const [cookie] = answer.headers['set-cookie'] ?? []
  if (cookie === undefined) throw new Error(`no cookie: ${answer.status} ${answer.text}`)
  return cookie.split(';')[0] ?? ''
}

/** Logs in. @returns the session's cookie. */
export const login = async (url: string, password: string, base = '/'): Promise<string> =>
  cookieOf(await tryLogin(url, password, { base, headers: elsewhere() }))
