import { join } from 'node:path'
import type { Services } from '@sume-inbox/services'
import { type EventSummary, findEvents } from '@sume-inbox/shared/ledger'
import { jobId, openBoardQueue, workerConnection } from '@sume-inbox/shared/queues'
import {
  openTestDatabase,
  readMetrics,
  type TestDatabase,
  TEST_SECRET,
  testPrefix,
  waitFor,
} from '@sume-inbox/testing'
import { makeLedgerLog } from './ledger-log.ts'
import { type Member, startMember } from './member.ts'
import { openRuns, type Runs } from './runs.ts'

/** Receivers and workers on a database and a queue of their own, and what is left of their work. */
export interface System extends AsyncDisposable {
  readonly database: TestDatabase
  readonly queue: ReturnType<typeof openBoardQueue>['queue']
  /** For what a queue has no word for. */
  readonly redis: ReturnType<typeof workerConnection>
  readonly runs: Runs
  /** What its processes are given. */
  readonly env: Record<string, string>
  /** Those that were started, also those that are dead. */
  readonly members: Member[]
  start(app: Member['app'], settings?: Record<string, string>): Promise<Member>
  row(key: string): Promise<EventSummary | undefined>
  reached(key: string, state: EventSummary['state'], timeoutMs?: number): Promise<EventSummary>
  jobState(key: string): Promise<string>
  /** Put back by the sweepers of all its living workers so far. */
  swept(): Promise<number>
}

/** Opens a system without processes. */
export async function openSystem(
  on: Pick<Services, 'databaseUrl' | 'redisUrl'>,
  settings: Record<string, string> = {},
): Promise<System> {
  // The test's own statements are many, and no part of what is tested.
  const database = await openTestDatabase({ serverUrl: on.databaseUrl, timeoutMs: 30_000 })
  await makeLedgerLog(database)
  const prefix = testPrefix()
  const runs = openRuns()
  const members: Member[] = []
  const onError = () => undefined
  const board = openBoardQueue({ redisUrl: on.redisUrl, prefix, onError })
  const redis = workerConnection(on.redisUrl, onError)
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: on.redisUrl,
    QUEUE_PREFIX: prefix,
    SUME_WEBHOOK_SECRETS: TEST_SECRET,
    FOLLOW_UPS: join(import.meta.dirname, 'fixtures/follow-ups.ts'),
    RUNS: runs.file,
    LOG_LEVEL: 'info',
    ...settings,
  }
  const row = async (key: string) => (await findEvents(database.ledger, key))[0]
  return {
    database,
    queue: board.queue,
    redis,
    runs,
    env,
    members,
    async start(app, more = {}) {
      const member = await startMember(app, { ...env, ...more })
      members.push(member)
      return member
    },
    row,
    reached: (key, state, timeoutMs) =>
      waitFor(
        `${key} to be ${state}`,
        async () => {
          const found = await row(key)
          return found?.state === state && found
        },
        timeoutMs,
      ),
    jobState: (key) => board.queue.getJobState(jobId(key)),
    async swept() {
      let sum = 0
      for (const member of members.filter(({ app }) => app === 'worker')) {
        for (const [name, value] of await readMetrics(member.internalUrl())) {
          if (name.startsWith('sume_swept_total{')) sum += value
        }
      }
      return sum
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(members.map((member) => member[Symbol.asyncDispose]()))
      await board.close()
      redis.disconnect()
      await database.drop()
    },
  }
}
