import { randomUUID } from 'node:crypto'
import { findEvents } from '@sume-inbox/shared/ledger'
import { openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import type { ResultSetHeader } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliverTo, eventRow, jobEnvelope, select } from './events.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.drop())

test('a first delivery makes the row, and every other one is a duplicate', async () => {
  const envelope = jobEnvelope({ status: 'ERROR', event: 'job.failed' })
  expect(await deliverTo(db.ledger, envelope)).toBe('first')
  expect(await deliverTo(db.ledger, envelope)).toBe('duplicate')
  expect(await deliverTo(db.ledger, envelope)).toBe('duplicate')
  expect(await findEvents(db.ledger, envelope.sumeId)).toMatchObject([
    {
      dedupe_key: envelope.dedupeKey,
      kind: 'job',
      status: 'ERROR',
      event: 'job.failed',
      state: 'claimed',
      deliveries: 3,
      diverged: 0,
      attempts: 0,
      source: 'webhook',
    },
  ])
})

test('of 300 deliveries at once exactly one is first, and all are counted', async () => {
  const envelope = jobEnvelope()
  const results = await Promise.all(
    Array.from({ length: 300 }, () => deliverTo(db.ledger, envelope)),
  )
  expect(results.filter((result) => result === 'first')).toHaveLength(1)
  expect(await eventRow(db.ledger, envelope.dedupeKey)).toMatchObject({ deliveries: 300 })
})

test('a counter at its maximum stays there: a duplicate, and no error', async () => {
  const envelope = jobEnvelope()
  await deliverTo(db.ledger, envelope)
  await db.ledger.query('UPDATE sume_events SET deliveries = 4294967295 WHERE dedupe_key = ?', [
    envelope.dedupeKey,
  ])
  expect(await deliverTo(db.ledger, envelope)).toBe('duplicate')
  expect(await deliverTo(db.ledger, envelope)).toBe('duplicate')
  expect(await eventRow(db.ledger, envelope.dedupeKey)).toMatchObject({ deliveries: 4294967295 })
})

test('a delivery that says another status is marked for good, and changes no status', async () => {
  const envelope = jobEnvelope()
  await deliverTo(db.ledger, envelope)
  await deliverTo(db.ledger, { ...envelope, status: 'ERROR' })
  expect(await eventRow(db.ledger, envelope.dedupeKey)).toMatchObject({ diverged: 1, status: 'OK' })
  await deliverTo(db.ledger, envelope)
  expect(await eventRow(db.ledger, envelope.dedupeKey)).toMatchObject({ diverged: 1, status: 'OK' })
})

test('a duplicate never moves due_at, and the first payload stays', async () => {
  const envelope = jobEnvelope()
  await deliverTo(db.ledger, envelope, { raw: Buffer.from('{"n":1}'), graceMs: 15_000 })
  const { due_at } = await eventRow(db.ledger, envelope.dedupeKey)
  await deliverTo(db.ledger, envelope, { raw: Buffer.from('{"n":2}'), graceMs: 99_000 })
  expect(await eventRow(db.ledger, envelope.dedupeKey)).toMatchObject({
    due_at,
    payload: '{"n":1}',
  })
})

test('due_at is the grace from now by MySQL’s clock', async () => {
  const envelope = jobEnvelope()
  await deliverTo(db.ledger, envelope, { graceMs: 15_250 })
  const [row] = await select<{ ms: number }>(
    db.ledger,
    'SELECT TIMESTAMPDIFF(MICROSECOND, first_seen, due_at) DIV 1000 AS ms FROM sume_events WHERE dedupe_key = ?',
    [envelope.dedupeKey],
  )
  expect(Number(row?.ms)).toBe(15_250)
})

test.each([
  ['odd spacing and key order', ' {"b" : 1 ,\r\n\t"a":2 } \n'],
  ['numbers that a parser rewrites', '{"n":1e2,"m":1.0,"big":12345678901234567890}'],
  ['a number out of range', '{"n":1e400}'],
  ['a key that is there twice', '{"a":1,"a":2}'],
  ['a lone surrogate escape', String.raw`{"s":"\ud800"}`],
  [
    'characters outside the BMP, quotes and backslashes',
    String.raw`{"s":"🦀 'x' \\ \" % _ \u0000"}`,
  ],
  ['a mebibyte', `{"s":"${'é'.repeat(512 * 1024)}"}`],
])('the payload is kept byte for byte: %s', async (_what, text) => {
  const envelope = jobEnvelope()
  await deliverTo(db.ledger, envelope, { raw: Buffer.from(text) })
  expect((await eventRow(db.ledger, envelope.dedupeKey)).payload === text).toBe(true)
})

test('a poll is no delivery: it inserts 0 and adds 0, and deduplicates all the same', async () => {
  const polledFirst = jobEnvelope()
  expect(await deliverTo(db.ledger, polledFirst, { source: 'poll' })).toBe('first')
  expect(await eventRow(db.ledger, polledFirst.dedupeKey)).toMatchObject({
    deliveries: 0,
    source: 'poll',
  })
  expect(await deliverTo(db.ledger, polledFirst)).toBe('duplicate')
  expect(await deliverTo(db.ledger, polledFirst, { source: 'poll' })).toBe('duplicate')
  expect(await eventRow(db.ledger, polledFirst.dedupeKey)).toMatchObject({
    deliveries: 1,
    source: 'poll',
  })
})

test('ids that differ by case alone are different events', async () => {
  const id = `job_${randomUUID()}`
  expect(await deliverTo(db.ledger, jobEnvelope({ dedupeKey: `${id}a` }))).toBe('first')
  expect(await deliverTo(db.ledger, jobEnvelope({ dedupeKey: `${id}A` }))).toBe('first')
})

test('a status that the ledger does not know is refused loudly', async () => {
  const envelope = { ...jobEnvelope(), status: 'error' as 'ERROR' }
  await expect(deliverTo(db.ledger, envelope)).rejects.toThrow(/event_status/)
})

test('decision: new, duplicate and value-that-does-not-fit, under INSERT IGNORE and under the statement', async () => {
  const ignored = async (id: string) => {
    const [result] = await db.ledger.execute<ResultSetHeader>(
      "INSERT IGNORE INTO sume_events (dedupe_key, event, status, payload) VALUES (?, 'job.completed', 'OK', '{}')",
      [id],
    )
    return result.affectedRows
  }
  const [fresh, tooLong] = [`job_${randomUUID()}`, `job_${'x'.repeat(80)}`]
  // INSERT IGNORE: a value that does not fit is cut short and looks like a new event; then like a duplicate.
  expect([await ignored(fresh), await ignored(fresh)]).toEqual([1, 0])
  expect([await ignored(`${tooLong}1`), await ignored(`${tooLong}2`)]).toEqual([1, 0])
  expect(
    await select(db.ledger, "SELECT 1 FROM sume_events WHERE dedupe_key LIKE 'job_xxxx%'"),
  ).toHaveLength(1)
  // The statement: three different answers.
  const envelope = jobEnvelope()
  expect(await deliverTo(db.ledger, envelope)).toBe('first')
  expect(await deliverTo(db.ledger, envelope)).toBe('duplicate')
  await expect(
    deliverTo(db.ledger, jobEnvelope({ dedupeKey: `${tooLong}3` })),
  ).rejects.toMatchObject({ errno: 1406 })
})
