import { setTimeout as sleep } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import type { Envelope } from '@sume-inbox/shared/envelope'
import {
  attachIntent,
  type Db,
  type Ledger,
  openLedger,
  recordPoll,
  recordRunWebhook,
  reserveIntent,
} from '@sume-inbox/shared/ledger'
import { openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { changedLedger } from './changed-ledger.ts'
import { select } from './events.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await openTestDatabase({ poolSize: 16 })
})
afterAll(() => db.drop())

const body = Buffer.from('{}')
const graceMs = 60_000

/** A run that was submitted, and the two ways in which its end is told. */
async function submittedRun() {
  const runId = `run_${randomUUID()}`
  const key = randomUUID()
  await reserveIntent(db.ledger, { key, path: '/v1/formats/f/runs', body: '{}', kind: 'run' })
  await attachIntent(db.ledger, key, runId, 0)
  const envelope = (requestId: string | null): Envelope => ({
    dedupeKey: `run:${requestId ?? runId}`,
    kind: 'run',
    sumeId: runId,
    requestId,
    event: 'run.completed',
    status: 'OK',
  })
  return {
    runId,
    webhook: (requestId: string | null = `req_${runId}`, ledger: Ledger = db.ledger) =>
      ledger.inTransaction((tx) =>
        recordRunWebhook(tx, { envelope: envelope(requestId), body, graceMs }),
      ),
    poll: (ledger: Ledger = db.ledger) =>
      recordPoll(ledger, key, { envelope: envelope(null), body, graceMs }),
    rows: () =>
      select<{ dedupe_key: string; request_id: string | null; source: string; deliveries: number }>(
        db.ledger,
        'SELECT dedupe_key, request_id, source, deliveries FROM sume_events WHERE sume_id = ? ORDER BY dedupe_key',
        [runId],
      ),
  }
}

test('the webhook first: the poll is a duplicate and counts no delivery', async () => {
  const run = await submittedRun()
  expect(await run.webhook()).toMatchObject({ recorded: 'first' })
  expect(await run.poll()).toBe('duplicate')
  expect(await run.rows()).toEqual([
    {
      dedupe_key: `run:req_${run.runId}`,
      request_id: `req_${run.runId}`,
      source: 'webhook',
      deliveries: 1,
    },
  ])
})

test('the poll first: the webhook is a delivery on its row and gives it its request id', async () => {
  const run = await submittedRun()
  expect(await run.poll()).toBe('first')
  expect(await run.rows()).toMatchObject([{ request_id: null, source: 'poll', deliveries: 0 }])
  const met = { recorded: 'duplicate', dedupeKey: `run:${run.runId}` }
  expect(await run.webhook()).toEqual(met)
  expect(await run.webhook()).toEqual(met)
  expect(await run.rows()).toEqual([
    {
      dedupe_key: `run:${run.runId}`,
      request_id: `req_${run.runId}`,
      source: 'poll',
      deliveries: 2,
    },
  ])
})

test('a webhook with another request id is another event, whoever was first', async () => {
  const polled = await submittedRun()
  await polled.poll()
  await polled.webhook('req_a')
  expect(await polled.webhook('req_b')).toEqual({ recorded: 'first', dedupeKey: 'run:req_b' })
  expect(await polled.webhook('req_b')).toMatchObject({ recorded: 'duplicate' })
  expect(await polled.rows()).toMatchObject([
    { dedupe_key: 'run:req_b', deliveries: 2 },
    { dedupe_key: `run:${polled.runId}`, request_id: 'req_a', deliveries: 1 },
  ])

  const told = await submittedRun()
  await told.webhook('req_c')
  expect(await told.webhook('req_d')).toMatchObject({ recorded: 'first' })
  expect(await told.poll()).toBe('duplicate')
  expect(await told.rows()).toHaveLength(2)
})

test('a webhook whose request id is the run’s own is the polled row’s', async () => {
  const run = await submittedRun()
  await run.poll()
  expect(await run.webhook(run.runId)).toMatchObject({ recorded: 'duplicate' })
  expect(await run.rows()).toMatchObject([{ request_id: run.runId, deliveries: 1 }])
  expect(await run.webhook('req_other')).toMatchObject({ recorded: 'first' })
})

test('a webhook without a request id meets the polled row, whoever was first', async () => {
  const polled = await submittedRun()
  await polled.poll()
  expect(await polled.webhook(null)).toMatchObject({ recorded: 'duplicate' })
  const told = await submittedRun()
  await told.webhook(null)
  expect(await told.poll()).toBe('duplicate')
  for (const run of [polled, told]) expect(await run.rows()).toHaveLength(1)
})

/** A ledger that stops before its nth statement of a transaction, until it is let go. */
function steppedLedger(stopBefore: number) {
  const ledger = openLedger({ url: db.url, poolSize: 1, timeoutMs: 4000 })
  const arrived = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const inTransaction = <T>(work: (tx: Db) => Promise<T>): Promise<T> =>
    ledger.inTransaction(async (tx) => {
      let statements = 0
      const step = async () => {
        statements++
        if (statements !== stopBefore) return
        arrived.resolve()
        await go.promise
      }
      const stepped = {
        execute: async (...args: Parameters<Db['execute']>) => {
          await step()
          return tx.execute(...args)
        },
        query: async (...args: Parameters<Db['query']>) => {
          await step()
          return tx.query(...args)
        },
      } as Db
      const result = await work(stepped)
      // The last stop is the one before the COMMIT.
      statements = Math.max(statements, stopBefore - 1)
      await step()
      return result
    })
  return {
    ledger: { ...ledger, inTransaction },
    arrived: arrived.promise,
    go: go.resolve,
    close: () => ledger.close(),
  }
}

// Every place in which one of the two can be overtaken by the whole of the other: docs/decisions/0009.
for (const first of ['webhook', 'poll'] as const) {
  for (const stopBefore of [1, 2, 3, 4, 5]) {
    test(`the ${first} stops before its statement ${stopBefore} while the other runs: one row, one first`, async () => {
      const run = await submittedRun()
      const stepped = steppedLedger(stopBefore)
      try {
        const stopped =
          first === 'webhook' ? run.webhook(undefined, stepped.ledger) : run.poll(stepped.ledger)
        await stepped.arrived
        const other = first === 'webhook' ? run.poll() : run.webhook()
        // It either ends, or waits for the one that stopped: both are let be.
        await Promise.race([other, sleep(150)])
        stepped.go()
        const outcomes = (await Promise.all([stopped, other])).map((outcome) =>
          typeof outcome === 'string' ? outcome : outcome.recorded,
        )
        expect(outcomes.sort()).toEqual(['duplicate', 'first'])
        expect(await run.rows()).toMatchObject([{ request_id: `req_${run.runId}`, deliveries: 1 }])
      } finally {
        await stepped.close()
      }
    })
  }
}

test('300 runs, three webhooks and two polls of each at once: one row and one first each', async () => {
  const runs = await Promise.all(Array.from({ length: 300 }, submittedRun))
  for (let from = 0; from < runs.length; from += 20) {
    await Promise.all(
      runs.slice(from, from + 20).map(async (run) => {
        const told = [run.webhook(), run.poll(), run.webhook(), run.poll(), run.webhook()]
        const firsts = (await Promise.all(told)).filter(
          (one) => (typeof one === 'string' ? one : one.recorded) === 'first',
        )
        expect(firsts).toHaveLength(1)
        expect(await run.rows()).toMatchObject([{ deliveries: 3 }])
      }),
    )
  }
})

test('without the lock on the intent, each makes a row of its own', async () => {
  const run = await submittedRun()
  // Before its third statement: it has looked for the poll's row, and has not written its own.
  const stepped = steppedLedger(3)
  const unlocked = changedLedger(stepped.ledger, {
    in: 'sume_intents WHERE sume_id',
    from: ' FOR UPDATE',
    to: '',
  })
  try {
    const webhook = run.webhook(undefined, unlocked)
    await stepped.arrived
    expect(await run.poll()).toBe('first')
    stepped.go()
    expect(await webhook).toMatchObject({ recorded: 'first' })
    expect(await run.rows()).toHaveLength(2)
  } finally {
    await stepped.close()
  }
})
