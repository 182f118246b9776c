import { randomUUID } from 'node:crypto'
import { jobId } from '@sume-inbox/shared/queues'
import { servers, waitFor } from '@sume-inbox/testing'
import { expect, test } from 'vitest'
import { atRest, violations } from './invariants.ts'
import type { Member } from './member.ts'
import { makeSender } from './sender.ts'
import { openSystem, type System } from './system.ts'

// The queue gives a crashed worker's job out again when its lock has run out and two of its checks have
// passed: 30 to 45 s, which these tests wait for side by side.

interface Case {
  readonly step: string
  /** What the follow-up does. */
  readonly told: string
  /** Resolves when the worker is at the step. */
  at: (worker: Member, system: System, key: string) => Promise<unknown>
  /** How often the follow-up starts, and the attempts of the event, both runs together. */
  readonly runs: number
  readonly attempts: number
}

const noted =
  (step: string): Case['at'] =>
  (_worker, system, key) =>
    waitFor(`${key} to be noted: ${step}`, () =>
      system.runs.steps().some((line) => line.key === key && line.step === step),
    )

/** The COMMIT of `complete`, and no service's: the one that follows its write. */
const commit = async (
  worker: Member,
  then: (mysql: ReturnType<Member['mysql']['hold']>['sameConnection']) => Promise<void>,
) => {
  const write = worker.mysql.hold('INSERT INTO effects')
  await write.reached
  const committed = then(write.sameConnection)
  write.release()
  await committed
}

const CASES: Case[] = [
  {
    step: 'before the claim reaches MySQL',
    told: 'complete',
    at: (worker) => worker.mysql.hold('SET attempts = attempts + 1').reached,
    runs: 1,
    attempts: 1,
  },
  {
    step: 'when the claim is committed and its answer is not there',
    told: 'complete',
    at: (worker) => worker.mysql.loseAnswer('SET attempts = attempts + 1'),
    runs: 1,
    attempts: 2,
  },
  {
    step: 'between claim and read',
    told: 'complete',
    at: (worker) => worker.mysql.hold('SELECT e.attempts').reached,
    runs: 1,
    attempts: 2,
  },
  {
    step: 'in the follow-up',
    told: 'wait before complete',
    at: noted('start'),
    runs: 2,
    attempts: 2,
  },
  {
    step: 'in complete, before its writes',
    told: 'complete',
    at: (worker) => worker.mysql.hold('INSERT INTO effects').reached,
    runs: 2,
    attempts: 2,
  },
  {
    step: 'in complete, after its writes',
    told: 'complete',
    at: (worker) => commit(worker, (mysql) => mysql.hold('COMMIT').reached),
    runs: 2,
    attempts: 2,
  },
  {
    step: 'when complete is committed and its answer is not there',
    told: 'complete',
    at: (worker) => commit(worker, (mysql) => mysql.loseAnswer('COMMIT')),
    runs: 1,
    attempts: 1,
  },
  {
    step: 'after complete',
    told: 'wait after complete',
    at: noted('after complete'),
    runs: 1,
    attempts: 1,
  },
  {
    step: 'before the settle reaches MySQL',
    told: 'return',
    at: (worker) => worker.mysql.hold("SET state = 'done'").reached,
    runs: 2,
    attempts: 2,
  },
  {
    step: 'between settle and the queue',
    told: 'complete',
    at: (worker, _system, key) => worker.redis.hold(jobId(key)).reached,
    runs: 1,
    attempts: 1,
  },
]

/** A receiver and one worker at default settings (but for sweeps), and nobody beside it yet. */
async function openWithOne(settings: Record<string, string> = {}) {
  const system = await openSystem(servers(), settings)
  const receiver = await system.start('receiver')
  // Its own sweeps would commit, too.
  const worker = await system.start('worker', { SWEEP_EVERY_MS: '3600000' })
  return { system, worker, sender: makeSender(() => [receiver.url()]) }
}

/** At default settings; 45 s is what lock and checks add up to. */
const RETRY_MS = 60_000

test.concurrent.each(CASES)('a worker killed $step', async ({ told, at, runs, attempts }) => {
  const { system, worker, sender } = await openWithOne()
  await using _ = system
  const key = `job_${randomUUID()}`
  const there = at(worker, system, key)
  await sender.send({ jobId: key, do: told })
  await there
  await worker.kill()
  expect(await system.jobState(key)).toBe('active')

  await system.start('worker')
  system.runs.letGo(key)
  expect(await system.reached(key, 'done', RETRY_MS)).toMatchObject({ attempts })
  await atRest(system, RETRY_MS)
  expect(system.runs.started(key)).toHaveLength(runs)
  expect(await violations(system, sender.accepted)).toEqual([])
})

test.concurrent('killed twice in the middle of the same event: the third attempt ends it', async () => {
  const { system, worker, sender } = await openWithOne()
  await using _ = system
  const key = await sender.send({ do: 'take a while', ms: 1000 })
  for (const runs of [1, 2]) {
    await waitFor(`run ${runs} to start`, () => system.runs.started(key).length === runs, RETRY_MS)
    await worker.kill()
    await worker.start()
  }
  expect(await system.reached(key, 'done', RETRY_MS)).toMatchObject({ attempts: 3 })
  await atRest(system, RETRY_MS)
  expect(await violations(system, sender.accepted)).toEqual([])
})

test.concurrent('poison: a follow-up that ends its process each time is dead after its attempts, and the others are done', async () => {
  const { system, worker, sender } = await openWithOne({ MAX_ATTEMPTS: '2' })
  await using _ = system
  const others: string[] = []
  const key = await sender.send({ do: 'exit' })
  for (const _attempt of [1, 2]) {
    expect(await worker.ended(RETRY_MS)).toBe(9)
    // As a supervisor does.
    await worker.start()
    others.push(await sender.send(), await sender.send())
  }
  const dead = await system.reached(key, 'dead', RETRY_MS)
  expect(dead).toMatchObject({
    attempts: 2,
    last_error: expect.stringContaining('never settled') as string,
  })
  for (const other of others) await system.reached(other, 'done', RETRY_MS)
  await atRest(system, RETRY_MS)
  expect(await violations(system, sender.accepted)).toEqual([])
})

test.concurrent('50 events in one worker, killed: all are done by another within a minute', async () => {
  const { system, worker, sender } = await openWithOne({ WORKER_CONCURRENCY: '50' })
  await using _ = system
  const keys = await Promise.all(
    Array.from({ length: 50 }, () => sender.send({ do: 'take a while', ms: 2000 })),
  )
  await waitFor('all to run', () => system.runs.started().length === 50)
  await worker.kill()
  await system.start('worker')
  await waitFor(
    'every event to be tried again',
    () => system.runs.started().length === 100,
    RETRY_MS,
  )
  for (const key of keys) await system.reached(key, 'done')
  await atRest(system, RETRY_MS)
  expect(await violations(system, sender.accepted)).toEqual([])
})
