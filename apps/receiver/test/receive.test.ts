import { openProducer, type Producer } from '@sume-inbox/shared/queues'
import { makeEvents } from '@sume-inbox/shared/telemetry'
import {
  openTestDatabase,
  servers,
  signatureVectors,
  type TestDatabase,
  testPrefix,
} from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openQuarantine } from '../src/webhook/quarantine.ts'
import { receive } from '../src/webhook/receive.ts'

const { secret, timestamp, vectors } = signatureVectors
let database: TestDatabase
let producer: Producer

beforeAll(async () => {
  database = await openTestDatabase()
  producer = openProducer({
    redisUrl: servers().redisUrl,
    prefix: testPrefix(),
    maxAttempts: 1,
    onError: () => undefined,
  })
})
afterAll(async () => {
  await producer.close()
  await database.drop()
})

/** A delivery of the first vector that arrives so many milliseconds after it was signed. */
function arrivingAfter(ms: number) {
  const [vector] = vectors
  const events = makeEvents()
  const { ledger } = database
  const quarantine = openQuarantine(ledger, 10, events)
  const rules = { secrets: [secret], toleranceSeconds: 300, graceMs: 1000 }
  return receive(
    { ledger, producer, events, quarantine, rules },
    {
      body: Buffer.from(vector?.body_base64 ?? '', 'base64'),
      headers: { timestamp: [String(timestamp)], signature: [vector?.signature ?? ''] },
      at: timestamp * 1000 + ms,
    },
  )
}

test('the tolerance takes in the whole of its first and last second', async () => {
  expect((await arrivingAfter(300_000)).receipt).toBe('accepted')
  expect((await arrivingAfter(300_999)).receipt).toBe('duplicate')
  expect((await arrivingAfter(-300_000)).receipt).toBe('duplicate')
  expect((await arrivingAfter(301_000)).receipt).toBe('unsigned')
  expect((await arrivingAfter(-300_001)).receipt).toBe('unsigned')
})
