import { randomBytes, randomUUID } from 'node:crypto'
import { attach, IntentProblem, reserve } from '@sume-inbox/shared/intents'
import {
  adoptIntent,
  attachIntent,
  type Db,
  leasePending,
  type LedgerCode,
  leaseUnsettled,
  listEventsWithoutIntent,
  listIntents,
  listIntentsWithoutEvent,
  loseIntent,
  postponeIntent,
  readIntent,
  readIntentBody,
  recordPoll,
  refuseIntent,
  reserveIntent,
  retryIntent,
} from '@sume-inbox/shared/ledger'
import { openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import mysql from 'mysql2/promise'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { changedLedger } from './changed-ledger.ts'
import { deliverTo, jobEnvelope, planOf, select } from './events.ts'

let db: TestDatabase
beforeEach(async () => {
  db = await openTestDatabase()
})
afterEach(() => db.drop())

const webhookUrl = 'https://inbox.example.com/webhooks/sume'
const newIntent = (key: string = randomUUID()) => ({
  key,
  path: '/v1/image-router/generate',
  body: { model: 'sandbox/image', prompt: 'Zürich, 東京' },
})
const reserved = async (key?: string) => {
  const intent = newIntent(key)
  await reserve(db.ledger, intent, { webhookUrl })
  return intent.key
}
const lease = (limit = 1, leaseMs = 60_000) => {
  const token = randomBytes(16)
  return leasePending(db.ledger, { token, leaseMs, limit }).then((intents) => ({ token, intents }))
}
const refusedAs = (code: LedgerCode) => expect.objectContaining({ name: 'LedgerError', code })
const unknown = { text: 'no answer', code: null, requestId: null }
const due = (key: string) =>
  db.ledger.query(
    'UPDATE sume_intents SET due_at = NOW(3), leased_until = LEAST(leased_until, NOW(3)) WHERE idempotency_key = ?',
    [key],
  )

test('reserve writes the intent once, with the webhook in its body, and says which call did', async () => {
  const intent = newIntent()
  expect(await reserve(db.ledger, intent, { webhookUrl })).toBe(true)
  expect(await reserve(db.ledger, intent, { webhookUrl })).toBe(false)
  expect(await readIntent(db.ledger, intent.key)).toMatchObject({
    state: 'pending',
    kind: 'job',
    path: intent.path,
    sume_id: null,
    attempts: 0,
  })
  expect(JSON.parse((await readIntentBody(db.ledger, intent.key)) ?? '')).toEqual({
    ...intent.body,
    mode: 'webhook',
    webhook_url: webhookUrl,
  })
})

test('of 100 calls at once one writes it', async () => {
  const intent = newIntent()
  const calls = await Promise.all(
    Array.from({ length: 100 }, () => reserve(db.ledger, intent, { webhookUrl })),
  )
  expect(calls.filter((isNew) => isNew)).toHaveLength(1)
})

test('a key that is there for something else is refused with both hashes, and nothing is changed', async () => {
  const intent = newIntent()
  await reserve(db.ledger, intent, { webhookUrl })
  const before = await readIntent(db.ledger, intent.key)
  for (const other of [
    { ...intent, body: { model: 'another' } },
    { ...intent, path: '/v1/video-router/generate' },
    { ...intent, kind: 'run' as const },
  ]) {
    const refused = reserve(db.ledger, other, { webhookUrl })
    await expect(refused).rejects.toEqual(refusedAs('KEY_REUSED'))
    await expect(refused).rejects.toThrow(/sha256 [0-9a-f]{64}.*sha256 [0-9a-f]{64}/)
    await expect(refused).rejects.toThrow(before?.body_sha256)
  }
  expect(await readIntent(db.ledger, intent.key)).toEqual(before)
})

test('keys differ by case and by accents that are none: no two keys are one', async () => {
  expect(await reserved('Order-1')).toBe('Order-1')
  expect(await reserve(db.ledger, newIntent('order-1'), { webhookUrl })).toBe(true)
})

test('SUME_WEBHOOK_URL changed between two tries: the same intent, with the bytes that it had', async () => {
  const intent = newIntent()
  await reserve(db.ledger, intent, { webhookUrl })
  const body = await readIntentBody(db.ledger, intent.key)
  expect(await reserve(db.ledger, intent, { webhookUrl: 'https://elsewhere.example.com/' })).toBe(
    false,
  )
  expect(await readIntentBody(db.ledger, intent.key)).toBe(body)
  await expect(
    reserve(
      db.ledger,
      { ...intent, body: { model: 'x' } },
      { webhookUrl: 'https://elsewhere.example.com/' },
    ),
  ).rejects.toEqual(refusedAs('KEY_REUSED'))
})

test('what cannot be an intent is refused before any statement', async () => {
  const nobody = { execute: () => expect.unreachable() } as unknown as Db
  // Not thrown at once: a promise's `catch` is where it is looked for.
  await expect(reserve(nobody, { ...newIntent(), key: '' }, { webhookUrl })).rejects.toThrow(
    IntentProblem,
  )
  await expect(attach(nobody, 'k', 'two words')).rejects.toThrow(IntentProblem)
})

test('reserve and attach are part of the caller’s own transaction, also on the caller’s own connection', async () => {
  const connection = await mysql.createConnection({ uri: db.url })
  try {
    await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    const { key, ...rest } = newIntent()
    await connection.beginTransaction()
    expect(await reserve(connection, { key, ...rest }, { webhookUrl })).toBe(true)
    await attach(connection, key, 'job_1')
    await connection.rollback()
    expect(await readIntent(db.ledger, key)).toBeNull()
    expect((await lease()).intents).toEqual([])

    // Its snapshot is older than the row, and it must see it all the same.
    await connection.beginTransaction()
    await connection.query('SELECT COUNT(*) FROM sume_intents')
    await reserve(db.ledger, { key, ...rest }, { webhookUrl })
    expect(await reserve(connection, { key, ...rest }, { webhookUrl })).toBe(false)
    expect(await reserve(connection, { key, ...rest }, { webhookUrl })).toBe(false)
    await connection.commit()
  } finally {
    await connection.end()
  }
})

test.each([
  ['another character set', { charset: 'latin1' }],
  ['another one', { charset: 'cp1251_general_ci' }],
  ['the narrow UTF-8', { charset: 'utf8' }],
  ['rows as arrays', { rowsAsArray: true }],
  ['nested tables', { nestTables: true }],
  ['bytes for values', { typeCast: false }],
])('on a connection of a caller’s with %s the bytes are the same', async (_, options) => {
  const connection = await mysql.createConnection({ uri: db.url, ...options })
  try {
    const intent = { ...newIntent(), body: { model: 'm', prompt: '日本語 😀 é' } }
    expect(await reserve(connection, intent, { webhookUrl })).toBe(true)
    expect(await reserve(connection, intent, { webhookUrl })).toBe(false)
    expect(await reserve(db.ledger, intent, { webhookUrl })).toBe(false)
    const stored = JSON.parse((await readIntentBody(db.ledger, intent.key)) ?? '') as object
    expect(stored).toMatchObject(intent.body)
  } finally {
    await connection.end()
  }
})

test('an id that a person had adopted is its own intent’s as soon as that one learns it', async () => {
  const key = await reserved()
  const adopted = { key: 'adopted:job_fast', kind: 'job', sumeId: 'job_fast' } as const
  await adoptIntent(db.ledger, { ...adopted, pollAfterMs: 0 })
  await attach(db.ledger, key, 'job_fast')
  expect(await readIntent(db.ledger, key)).toMatchObject({
    sume_id: 'job_fast',
    state: 'submitted',
  })
  expect(await readIntent(db.ledger, adopted.key)).toBeNull()
})

test('attach gives an intent its one id; the same again is fine, another is refused', async () => {
  const [one, two] = [await reserved(), await reserved()]
  await attach(db.ledger, one, 'job_1')
  await attach(db.ledger, one, 'job_1')
  expect(await readIntent(db.ledger, one)).toMatchObject({ sume_id: 'job_1', state: 'submitted' })
  await expect(attach(db.ledger, one, 'job_2')).rejects.toEqual(refusedAs('INTENT_HAS_ANOTHER_ID'))
  await expect(attach(db.ledger, two, 'job_1')).rejects.toEqual(refusedAs('ID_OF_ANOTHER_INTENT'))
  await expect(attach(db.ledger, 'nobody', 'job_3')).rejects.toEqual(refusedAs('NO_SUCH_INTENT'))
  expect(await readIntent(db.ledger, one)).toMatchObject({ sume_id: 'job_1', state: 'submitted' })
  expect(await readIntent(db.ledger, two)).toMatchObject({ sume_id: null, state: 'pending' })
})

test('the same id brought again moves neither a settled intent nor its clock', async () => {
  const key = await reserved()
  await attach(db.ledger, key, 'job_1')
  await db.ledger.query("UPDATE sume_intents SET state = 'settled'")
  const before = await readIntent(db.ledger, key)
  await attach(db.ledger, key, 'job_1')
  expect(await readIntent(db.ledger, key)).toEqual(before)
})

test('50 submitters over 1,000 intents: each is leased once', async () => {
  const keys = Array.from({ length: 1000 }, (_, i) => `k${i}`)
  await db.ledger.query('INSERT INTO sume_intents (idempotency_key, path, body) VALUES ?', [
    keys.map((key) => [key, '/x', '{}']),
  ])
  const taken: string[] = []
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      for (;;) {
        const { intents } = await lease(7)
        if (intents.length === 0) return
        taken.push(...intents.map(({ idempotency_key }) => idempotency_key))
      }
    }),
  )
  expect(taken.sort()).toEqual(keys.sort())
})

test('a leased intent is nobody else’s until its lease ends; then it is tried again', async () => {
  const key = await reserved()
  const { intents } = await lease(1, 60_000)
  expect(intents).toMatchObject([{ idempotency_key: key, attempts: 1 }])
  // Due by its clock, but held.
  await db.ledger.query('UPDATE sume_intents SET due_at = NOW(3)')
  expect((await lease()).intents).toEqual([])
  await due(key)
  expect((await lease()).intents).toMatchObject([{ idempotency_key: key, attempts: 2 }])
})

test('who lost the lease neither postpones nor refuses it; an id is taken from anybody', async () => {
  const key = await reserved()
  const { token } = await lease()
  await due(key)
  const second = await lease()
  const before = await readIntent(db.ledger, key)
  const late = { key, token }
  expect(await postponeIntent(db.ledger, late, { delayMs: 0, error: unknown })).toBe(false)
  expect(await refuseIntent(db.ledger, late, { state: 'rejected', error: unknown })).toBe(false)
  expect(await readIntent(db.ledger, key)).toEqual(before)
  // The first try was answered after all, while the second is under way: the job is paid, so its id counts.
  await attachIntent(db.ledger, key, 'job_1', 60_000)
  const held = { key, token: second.token }
  expect(await refuseIntent(db.ledger, held, { state: 'conflict', error: unknown })).toBe(false)
  expect(await readIntent(db.ledger, key)).toMatchObject({ state: 'submitted', sume_id: 'job_1' })
})

test('an error that is longer than its column is cut, not refused', async () => {
  const key = await reserved()
  const { token } = await lease()
  const error = { text: 'x', code: 'c'.repeat(300), requestId: 'r'.repeat(300) }
  expect(await postponeIntent(db.ledger, { key, token }, { delayMs: 0, error })).toBe(true)
  expect(await readIntent(db.ledger, key)).toMatchObject({
    error_code: 'c'.repeat(64),
    error_request_id: 'r'.repeat(255),
  })
})

test('only a rejected intent can be retried, with the bytes that it had', async () => {
  const key = await reserved()
  const body = await readIntentBody(db.ledger, key)
  expect(await retryIntent(db.ledger, key)).toBe(false)
  const { token } = await lease()
  await refuseIntent(db.ledger, { key, token }, { state: 'rejected', error: unknown })
  expect((await lease()).intents).toEqual([])
  expect(await retryIntent(db.ledger, key)).toBe(true)
  expect((await lease()).intents).toMatchObject([{ idempotency_key: key, body, attempts: 1 }])
})

test('an INSERT in plain SQL is an intent, and its hash is of the body’s UTF-8 bytes', async () => {
  await db.ledger.query(
    `INSERT INTO sume_intents (idempotency_key, path, body) VALUES ('order-1', '/v1/image-router/generate', '{"prompt":"Zürich"}')`,
  )
  expect((await lease()).intents).toMatchObject([
    { idempotency_key: 'order-1', body: '{"prompt":"Zürich"}', kind: 'job' },
  ])
  expect(
    await reserveIntent(db.ledger, {
      key: 'order-1',
      path: '/v1/image-router/generate',
      body: '{"prompt":"Zürich"}',
      kind: 'job',
    }),
  ).toBe(false)
})

test.each([
  ['an empty key', ['', '/x', '{}', 'job']],
  ['a key with a space', [' k', '/x', '{}', 'job']],
  ['a key with a line end', ['k\n', '/x', '{}', 'job']],
  ['a path without its slash', ['k', 'x', '{}', 'job']],
  ['a path to another host', ['k', '//evil.example.com/x', '{}', 'job']],
  ['a path with a space', ['k', '/a b', '{}', 'job']],
  ['another kind', ['k', '/x', '{}', 'film']],
])('%s is refused by the table', async (_, values) => {
  await expect(
    db.ledger.query('INSERT INTO sume_intents (idempotency_key, path, body, kind) VALUES (?)', [
      values,
    ]),
  ).rejects.toThrow(/constraint/i)
})

test('a submitted intent is asked about when its time has come, by one process at a time', async () => {
  const key = await reserved()
  await attachIntent(db.ledger, key, 'job_1', 60_000)
  expect(await leaseUnsettled(db.ledger, 10, 60_000)).toEqual({ poll: [], settled: 0 })
  await due(key)
  expect(await leaseUnsettled(db.ledger, 10, 60_000)).toMatchObject({
    poll: [{ idempotency_key: key, sume_id: 'job_1', polls: 0 }],
  })
  expect((await leaseUnsettled(db.ledger, 10, 60_000)).poll).toEqual([])
})

test('one whose event is there is settled instead, and a lost one too', async () => {
  const [key, late] = [await reserved(), await reserved()]
  await attachIntent(db.ledger, key, 'job_1', 0)
  await attachIntent(db.ledger, late, 'job_2', 0)
  expect(await loseIntent(db.ledger, late, 'too late')).toBe(true)
  await deliverTo(db.ledger, jobEnvelope({ sumeId: 'job_1', dedupeKey: 'job_1' }))
  await deliverTo(db.ledger, jobEnvelope({ sumeId: 'job_2', dedupeKey: 'job_2' }))
  expect(await leaseUnsettled(db.ledger, 10, 60_000)).toEqual({ poll: [], settled: 2 })
  for (const settled of [key, late])
    expect(await readIntent(db.ledger, settled)).toMatchObject({ state: 'settled' })
})

test('a lost intent without an event is not asked about any more', async () => {
  const key = await reserved()
  await attachIntent(db.ledger, key, 'job_1', 0)
  await loseIntent(db.ledger, key, 'too late')
  expect(await leaseUnsettled(db.ledger, 10, 60_000)).toEqual({ poll: [], settled: 0 })
  expect(await readIntent(db.ledger, key)).toMatchObject({ state: 'lost', last_error: 'too late' })
})

test('both leases read the index in the order of the due times, and no other row', async () => {
  await db.ledger.query('INSERT INTO sume_intents (idempotency_key, path, body, due_at) VALUES ?', [
    Array.from({ length: 2000 }, (_, i) => [`k${i}`, '/x', '{}', '2999-01-01 00:00:00']),
  ])
  await db.ledger.query('ANALYZE TABLE sume_intents')
  const seen: string[] = []
  const listening = changedLedger(
    db.ledger,
    { in: 'FOR UPDATE', from: 'SELECT', to: 'SELECT' },
    seen,
  )
  await leasePending(listening, { token: randomBytes(16), leaseMs: 1, limit: 1 })
  await leaseUnsettled(listening, 1, 1)
  expect(seen).toHaveLength(3)
  for (const sql of seen) {
    const plan = await planOf(
      db.ledger,
      sql.replace('state = ?', "state = 'submitted'").replace('LIMIT ?', 'LIMIT 10'),
    )
    expect(plan).toMatchObject({ key: 'by_due', type: 'range' })
    expect(plan.Extra ?? '').not.toMatch(/filesort|temporary/i)
  }
})

test('adopt takes a job of somebody else under care, once', async () => {
  const adopted = { key: 'adopted:job_1', kind: 'job', sumeId: 'job_1', pollAfterMs: 0 } as const
  expect(await adoptIntent(db.ledger, adopted)).toBe(true)
  expect(await adoptIntent(db.ledger, adopted)).toBe(false)
  expect(await adoptIntent(db.ledger, { ...adopted, key: 'other' })).toBe(false)
  expect((await leaseUnsettled(db.ledger, 10, 60_000)).poll).toMatchObject([{ sume_id: 'job_1' }])
  expect((await lease()).intents).toEqual([])
})

test('a poll that ends an intent settles it with the event', async () => {
  const key = await reserved()
  await attachIntent(db.ledger, key, 'job_1', 0)
  const envelope = jobEnvelope({ sumeId: 'job_1', dedupeKey: 'job_1' })
  const outcome = { envelope, body: Buffer.from('{}'), graceMs: 60_000 }
  expect(await recordPoll(db.ledger, key, outcome)).toBe('first')
  expect(await recordPoll(db.ledger, key, outcome)).toBe('duplicate')
  expect(await readIntent(db.ledger, key)).toMatchObject({ state: 'settled', polls: 1 })
  expect(await select(db.ledger, 'SELECT source, deliveries FROM sume_events')).toEqual([
    { source: 'poll', deliveries: 0 },
  ])
  // Its webhook comes later: the first delivery of the row that is there.
  expect(await deliverTo(db.ledger, envelope)).toBe('duplicate')
  expect(await select(db.ledger, 'SELECT source, deliveries FROM sume_events')).toEqual([
    { source: 'poll', deliveries: 1 },
  ])
})

test('reports both ways: events without an intent, intents without an event', async () => {
  const [key, waiting] = [await reserved(), await reserved()]
  await attachIntent(db.ledger, key, 'job_1', 0)
  await attachIntent(db.ledger, waiting, 'job_2', 0)
  await deliverTo(db.ledger, jobEnvelope({ sumeId: 'job_1', dedupeKey: 'job_1' }))
  await deliverTo(db.ledger, jobEnvelope({ sumeId: 'job_9', dedupeKey: 'job_9' }))
  expect(await listEventsWithoutIntent(db.ledger, 10)).toMatchObject([{ sume_id: 'job_9' }])
  expect(await listIntentsWithoutEvent(db.ledger, 10)).toMatchObject([{ sume_id: 'job_2' }])
  expect(await listIntents(db.ledger, { limit: 10 })).toHaveLength(2)
  expect(await listIntents(db.ledger, { state: 'pending', limit: 10 })).toEqual([])
})
