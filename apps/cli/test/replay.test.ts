import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { findEvents, listReplays, settleDone } from '@sume-inbox/shared/ledger'
import {
  jobBody,
  openTestDatabase,
  servers,
  type TestDatabase,
  testPrefix,
  waitFor,
} from '@sume-inbox/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claim, die, record } from './ledger.ts'
import { closedPort, sume } from './sume.ts'

let database: TestDatabase
let env: Record<string, string>

beforeEach(async () => {
  database = await openTestDatabase()
  env = {
    DATABASE_URL: database.url,
    REDIS_URL: servers().redisUrl,
    QUEUE_PREFIX: testPrefix(),
  }
})
afterEach(() => database.drop())

async function dead(jobId: string, error = 'boom', event = 'job.completed') {
  await record(database.ledger, jobBody({ jobId, event }).body)
  await die(database.ledger, jobId, error)
}
const state = async (jobId: string) => (await findEvents(database.ledger, jobId))[0]?.state
const replays = (jobId: string) => listReplays(database.ledger, jobId, 10)
const queued = async () =>
  (JSON.parse((await sume(['status', '--json'], env)).stdout) as { queue: { waiting: number } })
    .queue.waiting

test('one event by any of its ids: claimed again, in the queue, and its story says who and why', async () => {
  await dead('job_1')
  const ran = await sume(['replay', 'job_1', '--why', 'mail is back', '--by', 'Ann'], env)
  expect(ran).toEqual({ code: 0, stdout: 'job_1: replayed\n', stderr: '' })
  expect(await state('job_1')).toBe('claimed')
  expect(await queued()).toBe(1)
  expect(await replays('job_1')).toMatchObject([
    { what: 'replay', replayed_by: 'Ann', why: 'mail is back' },
  ])
  const story = await sume(['show', 'job_1'], env)
  expect(story.stdout).toContain('replay by Ann: mail is back')
})

test('an event that is not over exits 1; one that is done needs --force', async () => {
  await record(database.ledger, jobBody({ jobId: 'job_1' }).body)
  const early = await sume(['replay', 'job_1'], env)
  expect(early).toMatchObject({ code: 1, stdout: expect.stringContaining('it is not over') })
  await settleDone(database.ledger, await claim(database.ledger, 'job_1'))
  const unforced = await sume(['replay', 'job_1'], env)
  expect(unforced).toMatchObject({ code: 1, stdout: expect.stringContaining('--force') })
  expect(await replays('job_1')).toEqual([])
  expect((await sume(['replay', 'job_1', '--force'], env)).code).toBe(0)
  expect(await replays('job_1')).toMatchObject([
    { what: 'forced', replayed_by: expect.stringContaining('(command line)') },
  ])
})

test('an unknown id among several stops all of them, with the nearest match', async () => {
  await dead('job_1234')
  const ran = await sume(['replay', 'job_1234', 'job_1235'], env)
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain('did you mean job_1234?')
  expect(await state('job_1234')).toBe('dead')
})

test('many: counted first, changed only with --yes, and only what the filters mean', async () => {
  await dead('job_1', 'ETIMEDOUT mail')
  await dead('job_2', 'ETIMEDOUT mail', 'job.failed')
  await dead('job_3', 'disk full')
  const counted = await sume(['replay', '--dead', '--error', 'ETIMEDOUT'], env)
  expect(counted).toEqual({
    code: 0,
    stdout: '2 events match; nothing was changed. Add --yes to replay them\n',
    stderr: '',
  })
  expect(await state('job_1')).toBe('dead')
  const one = await sume(
    ['replay', '--dead', '--error', 'ETIMEDOUT', '--event', 'job.failed', '--yes', '--json'],
    env,
  )
  expect(JSON.parse(one.stdout)).toEqual({
    matched: 1,
    replayed: 1,
    leftToSweeper: 0,
    stopped: false,
  })
  expect([await state('job_1'), await state('job_2')]).toEqual(['dead', 'claimed'])
  const rest = await sume(['replay', '--dead', '--since', '1h', '--yes'], env)
  expect(rest.stdout).toBe('2 events replayed\n')
  expect(await queued()).toBe(3)
})

test('Redis away: replayed all the same, and left to the sweeper', async () => {
  await dead('job_1')
  const away = { ...env, REDIS_URL: `redis://127.0.0.1:${await closedPort()}` }
  const ran = await sume(['replay', '--dead', '--yes'], away)
  expect(ran).toMatchObject({ code: 0, stdout: '1 events replayed\n' })
  expect(ran.stderr).toContain('Redis did not take 1; the next sweep enqueues them')
  expect((await sume(['sweep'], env)).stdout).toContain('put back job_1')
})

test('stopped in the middle it says so, exits 1, and the same call does the rest', async () => {
  await database.ledger.query(
    `INSERT INTO sume_events (dedupe_key, event, status, payload, state)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
     SELECT CONCAT('job_', i), 'job.completed', 'OK', '{}', 'dead' FROM n`,
  )
  const count = async () => {
    const [rows] = await database.ledger.query(
      "SELECT COUNT(*) AS n FROM sume_events WHERE state = 'claimed'",
    )
    return (rows as unknown as { n: number }[])[0]?.n ?? 0
  }
  // A row that somebody holds: the replay waits there until it is told to stop.
  const [code] = await database.ledger.inTransaction(async (tx) => {
    await tx.query("SELECT 1 FROM sume_events WHERE dedupe_key = 'job_900' FOR UPDATE")
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, '../src/main.ts'), 'replay', '--dead', '--yes'],
      { env: { PATH: process.env['PATH'] ?? '', ...env } },
    )
    const ended = once(child, 'close') as Promise<[number | null]>
    await waitFor('the first batch', async () => (await count()) > 0)
    child.kill('SIGTERM')
    return ended
  })
  expect(code).toBe(1)
  const sofar = await count()
  expect(sofar).toBeGreaterThan(0)
  expect(sofar).toBeLessThan(900)
  expect((await sume(['replay', '--dead', '--yes'], env)).stdout).toBe(
    `${900 - sofar} events replayed\n`,
  )
})

test('a row that is locked by something else stops it, with what was done and what to do', async () => {
  await dead('job_1')
  await database.ledger.inTransaction(async (tx) => {
    await tx.query("SELECT 1 FROM sume_events WHERE dedupe_key = 'job_1' FOR UPDATE")
    const ran = await sume(['replay', '--dead', '--yes'], env)
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('0 events were replayed before it failed')
    expect(ran.stderr).toContain('a row is locked by another transaction; call it again')
  })
  expect((await sume(['replay', '--dead', '--yes'], env)).stdout).toBe('1 events replayed\n')
})

test('a reason may be long', async () => {
  await dead('job_1')
  const ran = await sume(['replay', 'job_1', '--why', 'x'.repeat(70_000)], env)
  expect(ran.code).toBe(0)
  expect((await replays('job_1'))[0]?.why).toHaveLength(4000)
})

test.each([
  [[], 'expected ids, or --dead'],
  [['job_1', '--dead'], 'not both'],
  [['--dead', '--done'], 'exclude each other'],
  [['--done'], 'needs --force'],
  [['--dead', '--since', 'yesterday'], 'expected how long ago'],
  [['--dead', '--since', '2026-02-30'], 'expected how long ago'],
  [['--dead', '--error', ''], 'an empty one would mean every event'],
  [['--dead', '--kind', 'jobs'], 'Allowed choices are job, run'],
  [['--deed'], 'Did you mean --dead?'],
])('replay %j exits 1 and says what was expected', async (args, said) => {
  const ran = await sume(['replay', ...args], env)
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain(said)
})
