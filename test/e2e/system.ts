import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findEvents } from '@sume-inbox/shared/ledger'
import {
  type AppProcess,
  openTestDatabase,
  servers,
  startApp,
  type TestDatabase,
  TEST_SECRET,
  testPrefix,
  waitFor,
} from '@sume-inbox/testing'

/** One run of a follow-up, as the fixture wrote it down. */
interface Run {
  readonly id: string
  readonly attempt: number
  readonly pid: number
}

/** Whole processes on a database and a queue of their own. */
export interface System {
  readonly database: TestDatabase
  readonly env: Record<string, string>
  /** Starts a process that is ended with the system. */
  start(app: string, extra?: Record<string, string>): Promise<AppProcess>
  /** Every run of a follow-up so far, of one event or of all. */
  runs(id?: string): Run[]
  /** From now on the follow-up of `job.held` succeeds. */
  mend(): void
  /** Waits until the event is in this state. */
  reached(
    id: string,
    state: 'claimed' | 'done' | 'dead',
    timeoutMs?: number,
  ): ReturnType<typeof event>
  [Symbol.asyncDispose](): Promise<void>
}

const event = async (database: TestDatabase, id: string) =>
  (await findEvents(database.ledger, id))[0]

/** Opens a system without processes. The servers are the shared ones, and the database is a new one, unless others are given. */
export async function openSystem(
  on: { databaseUrl?: string; redisUrl?: string; database?: TestDatabase } = {},
  settings: Record<string, string> = {},
): Promise<System> {
  const database =
    on.database ??
    (await openTestDatabase(on.databaseUrl === undefined ? {} : { serverUrl: on.databaseUrl }))
  const runsFile = join(mkdtempSync(join(tmpdir(), 'runs-')), 'runs.jsonl')
  const processes: AppProcess[] = []
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: on.redisUrl ?? servers().redisUrl,
    QUEUE_PREFIX: testPrefix(),
    SUME_WEBHOOK_SECRETS: TEST_SECRET,
    FOLLOW_UPS: join(import.meta.dirname, 'fixtures/follow-ups.ts'),
    RUNS: runsFile,
    BACKOFF_MS: '100',
    SANDBOX_RETRY_BASE_MS: '100',
    ...settings,
  }
  const runs = (id?: string): Run[] => {
    let text = ''
    try {
      text = readFileSync(runsFile, 'utf8')
    } catch {
      // no follow-up has run yet
    }
    const all = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Run)
    return id === undefined ? all : all.filter((run) => run.id === id)
  }
  return {
    database,
    env,
    runs,
    mend: () => writeFileSync(`${runsFile}.mended`, ''),
    async start(app, extra = {}) {
      const process = await startApp(app, { ...env, ...extra })
      processes.push(process)
      return process
    },
    reached: (id, state, timeoutMs) =>
      waitFor(
        `${id} to be ${state}`,
        async () => {
          const row = await event(database, id)
          return row?.state === state ? row : undefined
        },
        timeoutMs,
      ),
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((process) => process[Symbol.asyncDispose]()))
      await database.drop()
    },
  }
}
