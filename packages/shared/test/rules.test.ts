import { isDeepStrictEqual } from 'node:util'
import {
  exhaustEvent,
  replayEvents,
  type Ledger,
  renewLease,
  settleDead,
  settleDone,
  settleDoneWith,
  settleRetry,
  settleSnooze,
} from '@sume-inbox/shared/ledger'
import { openTestDatabase, type TestDatabase } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Change, changedLedger, without, withoutTransactions } from './changed-ledger.ts'
import { type Attempt, claim, eventRow, lapse, newEvent, select } from './events.ts'

// The rules of the checked protocol that SQL keeps. A scenario says whether its promise was kept: by the
// statements as they are, and, as proof that it can fail, by statements with one condition taken out.

let db: TestDatabase
const person = { by: 'a person', why: null }

beforeAll(async () => {
  db = await openTestDatabase()
  await db.ledger.query('CREATE TABLE effects (dedupe_key VARCHAR(68) NOT NULL)')
})
afterAll(() => db.drop())

type Scenario = (ledger: Ledger) => Promise<boolean>

function rule(title: string, scenario: Scenario, breakers: Record<string, Change>) {
  test(`${title}: kept`, async () => {
    expect(await scenario(db.ledger)).toBe(true)
  })
  for (const [what, change] of Object.entries(breakers)) {
    test(`${title} — broken without ${what}`, async () => {
      const changed = changedLedger(db.ledger, change)
      expect(await scenario(changed)).toBe(false)
      expect(changed.changed()).toBeGreaterThan(0)
    })
  }
}

const NO_VALID_LEASE = '(leased_until IS NULL OR leased_until <= NOW(3))'
const CLEARED = 'lease_token = NULL, leased_until = NULL'
const CLAIM = 'attempts < ? AND lease_token IS NULL'
const TAKEOVER = `attempts < ? AND ${NO_VALID_LEASE}`
const EXHAUST = 'attempts >= ?'

rule(
  'rule 1: a claim is refused while a lease is valid',
  async (ledger) => {
    const key = await newEvent(ledger)
    const a = await claim(ledger, key)
    const b = await claim(ledger, key)
    return a.claimed && !b.claimed && (await settleDone(ledger, a))
  },
  {
    'the guard of the first claim': without('lease_token IS NULL', CLAIM),
    'the guard of the takeover': without(NO_VALID_LEASE, TAKEOVER),
  },
)

rule(
  'rule 2: a crashing follow-up starts no more often than there are attempts, and goes dead',
  async (ledger) => {
    const key = await newEvent(ledger)
    for (let attempt = 1; attempt <= 2; attempt++) {
      await claim(ledger, key, { maxAttempts: 2 })
      await lapse(ledger, key)
    }
    const third = await claim(ledger, key, { maxAttempts: 2 })
    return !third.claimed && (await exhaustEvent(ledger, key, 2))
  },
  { 'the limit in the takeover': without('attempts < ?', TAKEOVER) },
)

rule(
  'rule 2: a row that settled its last attempt as a retry is not claimed again',
  async (ledger) => {
    const key = await newEvent(ledger)
    const a = await claim(ledger, key, { maxAttempts: 1 })
    await settleRetry(ledger, a, { error: 'x', backoffMs: 0, graceMs: 0 })
    return !(await claim(ledger, key, { maxAttempts: 1 })).claimed
  },
  {
    'the limit in the first claim': without('attempts < ?', CLAIM),
    'the limit in the takeover': without('attempts < ?', TAKEOVER),
  },
)

rule(
  'rule 3: no event goes dead under a last attempt whose lease is valid',
  async (ledger) => {
    const key = await newEvent(ledger)
    await claim(ledger, key, { maxAttempts: 2 })
    await lapse(ledger, key)
    const b = await claim(ledger, key, { maxAttempts: 2, attempt: 2 })
    return !(await exhaustEvent(ledger, key, 2)) && (await settleDone(ledger, b))
  },
  { 'the guard of the exhaust': without(NO_VALID_LEASE, EXHAUST) },
)

rule(
  'rule 3: only an event without an attempt left is exhausted',
  async (ledger) => !(await exhaustEvent(ledger, await newEvent(ledger), 2)),
  { 'the count in the exhaust': without('attempts >= ?', EXHAUST) },
)

rule(
  'rule 4: a late settle does not match another attempt of the same number',
  async (ledger) => {
    const key = await newEvent(ledger)
    const a = await claim(ledger, key)
    const snooze = { ms: 0, graceMs: 0, maxSnoozes: 10 }
    await settleSnooze(ledger, a, snooze)
    const b = await claim(ledger, key)
    return !(await settleSnooze(ledger, a, snooze)) && (await settleDone(ledger, b))
  },
  {
    'the token, with the number of the attempt for a fence': {
      in: 'attempts = attempts - 1',
      from: 'lease_token = ?',
      to: '? IS NOT NULL AND attempts = 1',
    },
  },
)

type Settle = (ledger: Ledger, attempt: Attempt) => Promise<boolean>

const settles: Record<string, { in: string; settle: Settle }> = {
  renew: {
    in: 'SET leased_until = NOW(3) +',
    settle: (ledger, { dedupeKey, token }) => renewLease(ledger, dedupeKey, token, 30_000),
  },
  done: { in: "SET state = 'done'", settle: settleDone },
  retry: {
    in: `SET ${CLEARED}, last_error = ?`,
    settle: (ledger, a) => settleRetry(ledger, a, { error: 'x', backoffMs: 1000, graceMs: 1000 }),
  },
  dead: {
    in: "SET state = 'dead', last_error = ?",
    settle: (ledger, a) => settleDead(ledger, a, 'x'),
  },
  snooze: {
    in: 'attempts = attempts - 1',
    settle: (ledger, a) => settleSnooze(ledger, a, { ms: 1000, graceMs: 1000, maxSnoozes: 10 }),
  },
}

for (const [name, { in: statement, settle }] of Object.entries(settles)) {
  rule(
    `rule 6: ${name} of an attempt that lost its lease touches nothing of the next one`,
    async (ledger) => {
      const key = await newEvent(ledger)
      const a = await claim(ledger, key)
      await lapse(ledger, key)
      const b = await claim(ledger, key, { attempt: 2 })
      const before = await eventRow(ledger, key)
      const refused = !(await settle(ledger, a))
      const untouched = isDeepStrictEqual(await eventRow(ledger, key), before)
      return refused && untouched && (await settleDone(ledger, b))
    },
    { 'the token': without('lease_token = ?', statement) },
  )
}

rule(
  'rule 7: a snooze that is sent again gives back no second attempt',
  async (ledger) => {
    const key = await newEvent(ledger)
    await claim(ledger, key)
    await lapse(ledger, key)
    const a = await claim(ledger, key, { attempt: 2 })
    const snooze = { ms: 0, graceMs: 0, maxSnoozes: 10 }
    await settleSnooze(ledger, a, snooze)
    await settleSnooze(ledger, a, snooze)
    return (await eventRow(ledger, key)).attempts === 1
  },
  {
    'clearing the token': {
      in: 'attempts = attempts - 1',
      from: CLEARED,
      to: 'leased_until = NULL',
    },
  },
)

rule(
  'rule 7: a retry that is sent again changes nothing',
  async (ledger) => {
    const key = await newEvent(ledger)
    const a = await claim(ledger, key)
    await settleRetry(ledger, a, { error: 'x', backoffMs: 1000, graceMs: 0 })
    return !(await settleRetry(ledger, a, { error: 'x', backoffMs: 9000, graceMs: 0 }))
  },
  { 'clearing the token': { in: 'last_error = ?', from: CLEARED, to: 'leased_until = NULL' } },
)

rule(
  'rule 7: a done that is sent again after a forced replay does not swallow the replay',
  async (ledger) => {
    const key = await newEvent(ledger)
    const a = await claim(ledger, key)
    await settleDone(ledger, a)
    await replayEvents(ledger, 'forced', [key], person)
    return !(await settleDone(ledger, a)) && (await eventRow(ledger, key)).state === 'claimed'
  },
  { 'clearing the token': { in: CLEARED, from: CLEARED, to: 'leased_until = NULL' } },
)

const effects = (key: string) =>
  select(db.ledger, 'SELECT 1 FROM effects WHERE dedupe_key = ?', [key])

/** A `complete` that ends in the middle: neither its write nor `done` may be there. */
const cutShort = (cut: (ledger: Ledger) => Promise<never>) => async (ledger: Ledger) => {
  const key = await newEvent(ledger)
  const a = await claim(ledger, key)
  const completed = settleDoneWith(ledger, a, async (tx) => {
    await tx.execute('INSERT INTO effects VALUES (?)', [key])
    return cut(tx as Ledger)
  })
  const failed = await completed.then(
    () => false,
    () => true,
  )
  const { state } = await eventRow(ledger, key)
  return failed && state === 'claimed' && (await effects(key)).length === 0
}

test.each<[string, (tx: Ledger) => Promise<never>]>([
  ['a throw', () => Promise.reject(new Error('not today'))],
  [
    'a lost connection',
    async (tx) => {
      await tx.query('KILL CONNECTION_ID()').catch(() => undefined)
      await tx.query('SELECT 1')
      throw new Error('unreachable')
    },
  ],
])('rule 8: effects commit with done, or not at all, after %s', async (_name, cut) => {
  expect(await cutShort(cut)(db.ledger)).toBe(true)
})

test('rule 8: effects commit with done, or not at all — broken without the transaction', async () => {
  const throwing = cutShort(() => Promise.reject(new Error('not today')))
  expect(await throwing(withoutTransactions(db.ledger))).toBe(false)
})

test('rule 8: complete commits its effect and done together, and returns what the work returned', async () => {
  const key = await newEvent(db.ledger)
  const a = await claim(db.ledger, key)
  const result = await settleDoneWith(db.ledger, a, async (tx) => {
    await tx.execute('INSERT INTO effects VALUES (?)', [key])
    return 7
  })
  expect(result).toBe(7)
  expect(await eventRow(db.ledger, key)).toMatchObject({ state: 'done', lease_token: null })
  expect(await effects(key)).toHaveLength(1)
})

test('rule 8: complete of an attempt that lost its lease does not even start its work', async () => {
  const key = await newEvent(db.ledger)
  const a = await claim(db.ledger, key)
  await lapse(db.ledger, key)
  await claim(db.ledger, key, { attempt: 2 })
  let started = false
  const late = settleDoneWith(db.ledger, a, () => {
    started = true
    return Promise.resolve()
  })
  await expect(late).rejects.toMatchObject({ name: 'LedgerError', code: 'LEASE_LOST' })
  expect(started).toBe(false)
})

for (const [state, settle] of [
  ['done', settleDone],
  ['dead', (ledger: Ledger, a: Attempt) => settleDead(ledger, a, 'discarded')],
] as const) {
  rule(
    `rule 10: an event that is ${state} is not claimed, whoever hands out its job`,
    async (ledger) => {
      const key = await newEvent(ledger)
      await settle(ledger, await claim(ledger, key))
      return !(await claim(ledger, key)).claimed
    },
    {
      'the state in the first claim': without("state = 'claimed'", CLAIM),
      'the state in the takeover': without("state = 'claimed'", TAKEOVER),
    },
  )
}
