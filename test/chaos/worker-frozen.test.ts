import { readMetrics, servers, waitFor } from '@sume-inbox/testing'
import { expect, test } from 'vitest'
import { atRest, violations } from './invariants.ts'
import { leaseSteps } from './ledger-log.ts'
import { makeSender } from './sender.ts'
import { openSystem, type System } from './system.ts'

// At default settings, where another worker takes over after 30 to 45 s; side by side.

/** With an open transaction in between: until the server has ended its session, too. */
const TAKEOVER_MS = 120_000

async function open(settings: Record<string, string> = {}) {
  const system = await openSystem(servers(), settings)
  const receiver = await system.start('receiver')
  const worker = await system.start('worker')
  return { system, worker, sender: makeSender(() => [receiver.url()]) }
}

const claims = async (system: System, key: string) =>
  (await leaseSteps(system.database)).filter(
    ({ dedupe_key, step }) => dedupe_key === key && step === 'claim',
  )

test.concurrent.each([
  { where: 'before complete', told: 'wait before complete', step: 'start' },
  { where: 'in complete', told: 'wait in complete', step: 'in complete' },
])('a worker frozen past its lease $where, then thawed', async ({ told, step }) => {
  const { system, worker, sender } = await open()
  await using _ = system
  const key = await sender.send({ do: told })
  await waitFor(`the run to be there: ${step}`, () =>
    system.runs.steps().some((line) => line.key === key && line.step === step),
  )
  worker.freeze()
  const other = await system.start('worker')
  expect(await system.reached(key, 'done', TAKEOVER_MS)).toMatchObject({ attempts: 2 })
  expect((await claims(system, key)).map(({ pid }) => pid)).toEqual([worker.pid(), other.pid()])

  system.runs.letGo(key)
  worker.thaw()
  await waitFor('the thawed worker to see that it lost its lease', async () => {
    const metrics = await readMetrics(worker.internalUrl())
    return metrics.get('sume_attempts_total{outcome="lost"}') === 1
  })
  await atRest(system, 60_000)
  expect(system.runs.started(key)).toHaveLength(2)
  expect(await violations(system, sender.accepted)).toEqual([])
})

test.concurrent('a worker frozen past its lease after complete, then thawed: nothing runs again', async () => {
  const { system, worker, sender } = await open()
  await using _ = system
  const key = await sender.send({ do: 'wait after complete' })
  await waitFor('complete to be through', () =>
    system.runs.steps().some(({ step }) => step === 'after complete'),
  )
  worker.freeze()
  await system.start('worker')
  await waitFor(
    'the other to be given the job, and to leave it at that',
    async () => (await system.jobState(key)) === 'completed',
    TAKEOVER_MS,
  )
  system.runs.letGo(key)
  worker.thaw()
  await atRest(system, 60_000)
  expect(await system.row(key)).toMatchObject({ state: 'done', attempts: 1 })
  expect(system.runs.started(key)).toHaveLength(1)
  expect(await violations(system, sender.accepted)).toEqual([])
})

test.concurrent('an event loop blocked past lock and lease: the other worker does it, and the first one’s complete writes nothing', async () => {
  const { system, worker, sender } = await open()
  await using _ = system
  const key = await sender.send({ do: 'block, once', ms: 55_000 })
  await waitFor('the run to start', () => system.runs.started(key).length === 1)
  const other = await system.start('worker')
  expect(await system.reached(key, 'done', TAKEOVER_MS)).toMatchObject({ attempts: 2 })
  expect((await claims(system, key)).map(({ pid }) => pid)).toEqual([worker.pid(), other.pid()])
  await waitFor(
    'the blocked one to wake up',
    async () => (await fetch(`${worker.internalUrl()}/health/live`)).ok,
    60_000,
  )
  await atRest(system, 60_000)
  expect(await violations(system, sender.accepted)).toEqual([])
})

test.concurrent('cut off from Redis alone: the attempts go on by their leases, and nothing runs twice', async () => {
  const { system, worker, sender } = await open()
  await using _ = system
  const keys = await Promise.all(
    Array.from({ length: 5 }, () => sender.send({ do: 'take a while', ms: 50_000 })),
  )
  await waitFor('all to run', () => system.runs.started().length === keys.length)
  worker.redis.swallowRequests()
  worker.redis.cut()
  await system.start('worker')
  for (const key of keys) await system.reached(key, 'done', TAKEOVER_MS)
  worker.redis.mend()
  worker.redis.cut()
  await atRest(system, 60_000)
  expect(system.runs.started()).toHaveLength(keys.length)
  expect(await violations(system, sender.accepted)).toEqual([])
})

test.concurrent('a row locked from outside: its event waits, the others do not, and it is done once afterwards', async () => {
  const { system, sender } = await open({ SWEEP_EVERY_MS: '200', ENQUEUE_GRACE_MS: '100' })
  await using _ = system
  const slow = await sender.send({ do: 'take a while', ms: 2000 })
  await waitFor('the run to start', () => system.runs.started(slow).length === 1)
  let again = Promise.resolve()
  await system.database.ledger.inTransaction(async (tx) => {
    await tx.query('SELECT 1 FROM sume_events WHERE dedupe_key = ? FOR UPDATE', [slow])
    const others = await Promise.all(Array.from({ length: 20 }, () => sender.send()))
    again = sender.again(slow)
    for (const other of others) await system.reached(other, 'done')
    await waitFor('its redelivery to be refused', () => sender.tries.get('503') !== undefined)
    expect(await system.row(slow)).toMatchObject({ state: 'claimed', deliveries: 1 })
  })
  await again
  await atRest(system, 60_000)
  expect(await system.row(slow)).toMatchObject({ state: 'done' })
  expect(await violations(system, sender.accepted)).toEqual([])
})
