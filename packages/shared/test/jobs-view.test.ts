import { randomUUID } from 'node:crypto'
import { openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import mysql, { type ResultSetHeader } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliverTo, eventRow, jobEnvelope, select } from './events.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.drop())

const PUBLISHED_INSERT =
  'INSERT INTO sume_jobs (job_id, event, status, payload) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE deliveries = deliveries + 1'
const PUBLISHED_SELECT = 'SELECT job_id, state, deliveries FROM sume_jobs WHERE job_id = ?'

const insert = async (id: string, status = 'OK') => {
  const [result] = await db.ledger.execute<ResultSetHeader>(PUBLISHED_INSERT, [
    id,
    'job.completed',
    status,
    '{"a":1}',
  ])
  return result.affectedRows
}
const count = async (id: string) => (await select(db.ledger, PUBLISHED_SELECT, [id])).length

test('the published INSERT gives 1, then 2, and the published SELECT shows 2 deliveries', async () => {
  const id = `job_${randomUUID()}`
  expect([await insert(id), await insert(id)]).toEqual([1, 2])
  expect(await select(db.ledger, PUBLISHED_SELECT, [id])).toEqual([
    { job_id: id, state: 'claimed', deliveries: 2 },
  ])
})

test('the published INSERT and the receiver’s statement meet in one row', async () => {
  const envelope = jobEnvelope()
  expect(await insert(envelope.dedupeKey)).toBe(1)
  expect(await deliverTo(db.ledger, envelope)).toBe('duplicate')
  expect(await insert(envelope.dedupeKey)).toBe(2)
  expect(await select(db.ledger, PUBLISHED_SELECT, [envelope.dedupeKey])).toMatchObject([
    { deliveries: 3 },
  ])
})

test('a row through the view is a whole event, due at once, also from a session in another time zone', async () => {
  const id = `job_${randomUUID()}`
  const application = await mysql.createConnection({ uri: db.url })
  await application.query("SET time_zone = '+05:00'")
  await application.execute(PUBLISHED_INSERT, [id, 'job.failed', 'ERROR', '{"a":1}'])
  await application.end()
  expect(await eventRow(db.ledger, id)).toMatchObject({
    sume_id: id,
    state: 'claimed',
    attempts: 0,
    source: 'webhook',
    urgent: 1,
  })
  const [age] = await select<{ seconds: number }>(
    db.ledger,
    'SELECT ABS(TIMESTAMPDIFF(SECOND, due_at, NOW(3))) AS seconds FROM sume_events WHERE dedupe_key = ?',
    [id],
  )
  expect(age?.seconds).toBeLessThan(60)
})

test('the published DELETE takes the row away', async () => {
  const id = `job_${randomUUID()}`
  await insert(id)
  const [result] = await db.ledger.execute<ResultSetHeader>(
    'DELETE FROM sume_jobs WHERE job_id = ?',
    [id],
  )
  expect(result.affectedRows).toBe(1)
  expect(await count(id)).toBe(0)
})

test('the view shows jobs only, and takes no key of a run', async () => {
  const id = `req_${randomUUID()}`
  await deliverTo(db.ledger, {
    ...jobEnvelope(),
    dedupeKey: `run:${id}`,
    kind: 'run',
    sumeId: `run_${id}`,
  })
  expect(await count(`run:${id}`)).toBe(0)
  await expect(insert(`run:${id}`)).rejects.toThrow(/event_kind|CHECK OPTION/i)
  await expect(insert('run:new')).rejects.toThrow(/event_kind|CHECK OPTION/i)
  expect(await eventRow(db.ledger, `run:${id}`)).toMatchObject({ deliveries: 1 })
})

test.each([
  ['a status in lower case', `job_${randomUUID()}`, 'ok', /event_status/],
  ['an id that is too long', 'j'.repeat(65), 'OK', /too long|truncated/i],
])('the view refuses %s', async (_what, id, status, message) => {
  await expect(insert(id, status)).rejects.toThrow(message)
  expect(await count(id)).toBe(0)
})
