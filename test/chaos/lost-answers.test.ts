import { randomUUID } from 'node:crypto'
import { servers } from '@sume-inbox/testing'
import { expect, test } from 'vitest'
import { atRest, violations } from './invariants.ts'
import type { Member } from './member.ts'
import { makeSender } from './sender.ts'
import { openSystem } from './system.ts'

interface Case {
  readonly statement: string
  /** Some of its SQL. */
  readonly sql: string
  /** Some of the statement's before it, where its own SQL is not enough to know it. */
  readonly after?: string
  /** What the follow-up does. */
  readonly told: Record<string, unknown>
  readonly runs: number
  readonly attempts: number
}

const CASES: Case[] = [
  // The attempt is used up, and its lease has to run out.
  {
    statement: 'claim',
    sql: 'SET attempts = attempts + 1',
    told: {},
    runs: 1,
    attempts: 2,
  },
  {
    statement: 'read',
    sql: 'SELECT e.attempts',
    told: {},
    runs: 1,
    attempts: 2,
  },
  {
    statement: 'renewal',
    sql: 'SET leased_until = NOW(3)',
    told: { do: 'take a while', ms: 1200 },
    runs: 1,
    attempts: 1,
  },
  {
    statement: 'settle as done',
    sql: "SET state = 'done'",
    told: { do: 'return' },
    runs: 1,
    attempts: 1,
  },
  {
    statement: 'settle as retry, its transaction not committed',
    sql: 'SET lease_token = NULL, leased_until = NULL, last_error',
    told: { do: 'throw, once' },
    runs: 2,
    attempts: 2,
  },
  // Not committed: the connection is cut with its transaction open.
  {
    statement: 'first write in complete',
    sql: 'INSERT INTO effects',
    told: {},
    runs: 2,
    attempts: 2,
  },
  {
    statement: 'commit of complete',
    sql: 'COMMIT',
    after: 'INSERT INTO effects',
    told: {},
    runs: 1,
    attempts: 1,
  },
]

async function loseAnswer(mysql: Member['mysql'], sql: string, after: string | undefined) {
  if (after === undefined) return mysql.loseAnswer(sql)
  const before = mysql.hold(after)
  await before.reached
  const lost = before.sameConnection.loseAnswer(sql)
  before.release()
  return lost
}

test.concurrent.each(CASES)(
  'the answer to a worker’s $statement lost, and the worker lives',
  async ({ sql, after, told, runs, attempts }) => {
    await using system = await openSystem(servers(), { LEASE_MS: '900', BACKOFF_MS: '50' })
    const receiver = await system.start('receiver')
    const sender = makeSender(() => [receiver.url()])
    // No sweep: its statements are not the ones meant.
    const worker = await system.start('worker', { SWEEP_EVERY_MS: '3600000' })
    await sender.send()
    await atRest(system, 60_000)

    const key = `job_${randomUUID()}`
    const lost = loseAnswer(worker.mysql, sql, after)
    await sender.send({ jobId: key, ...told })
    await lost
    expect(await system.reached(key, 'done')).toMatchObject({ attempts })
    await atRest(system, 60_000)
    expect(system.runs.started(key)).toHaveLength(runs)
    expect(await violations(system, sender.accepted)).toEqual([])
  },
)
