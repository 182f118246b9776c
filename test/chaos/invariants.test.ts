import { recordDelivery } from '@sume-inbox/shared/ledger'
import { parseEnvelope } from '@sume-inbox/shared/envelope'
import { jobBody, servers } from '@sume-inbox/testing'
import { appendFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { atRest, violations } from './invariants.ts'
import { load, makeSender, type Sender } from './sender.ts'
import { openSystem, type System } from './system.ts'

// Whoever proves something by these checks must know that they see what breaks it.
let system: System
let sender: Sender
let key: string
beforeEach(async () => {
  system = await openSystem(servers())
  const receiver = await system.start('receiver')
  await system.start('worker')
  sender = makeSender(() => [receiver.url()])
  await load(sender, { callers: 5, more: (sent) => sent < 20 })
  key = await sender.send()
  await atRest(system, 60_000)
})
afterEach(() => system[Symbol.asyncDispose]())

const query = (sql: string) => system.database.ledger.query(sql)
const found = () => violations(system, sender.accepted)

test('nothing, when nothing is wrong', async () => {
  expect(await found()).toEqual([])
})

test('an accepted event without a row', async () => {
  await query(`DELETE FROM sume_events WHERE dedupe_key = '${key}'`)
  expect(await found()).toEqual([`${key}: was accepted, and is lost`])
})

test('two deliveries that were both told to be the first', async () => {
  const known = sender.accepted.get(key)
  if (known !== undefined) known.firsts += 1
  expect(await found()).toEqual([`${key}: 2 deliveries were told that they were the first`])
})

test('an event that is still claimed', async () => {
  for (const member of system.members) await member.kill()
  await query(`UPDATE sume_events SET state = 'claimed' WHERE dedupe_key = '${key}'`)
  expect(await found()).toEqual([
    `${key}: is still claimed`,
    `${key}: is claimed, and has 1 effects instead of 0`,
  ])
})

test('an effect twice, not at all, or of a dead event', async () => {
  await query(`INSERT INTO effects (dedupe_key, attempt, pid) VALUES ('${key}', 1, 1)`)
  expect(await found()).toEqual([`${key}: is done, and has 2 effects instead of 1`])
  await query(`DELETE FROM effects WHERE dedupe_key = '${key}'`)
  expect(await found()).toEqual([`${key}: is done, and has 0 effects instead of 1`])
  await query(`INSERT INTO effects (dedupe_key, attempt, pid) VALUES ('${key}', 1, 1)`)
  await query(`UPDATE sume_events SET state = 'dead' WHERE dedupe_key = '${key}'`)
  expect(await found()).toEqual([`${key}: is dead, and has 1 effects instead of 0`])
})

test('a run without a claim, and a second run of one claim', async () => {
  const run = system.runs.started(key)[0]
  const note = (changes: object) =>
    appendFileSync(system.runs.file, `${JSON.stringify({ ...run, ...changes })}\n`)
  note({})
  note({ attempt: 2 })
  expect(await found()).toEqual([
    `${key}: process ${run?.pid} ran attempt 1 without a claim`,
    `${key}: process ${run?.pid} ran attempt 2 without a claim`,
  ])
})

test('an event whose follow-up never ran', async () => {
  const { body, jobId } = jobBody({ do: 'return' })
  const parsed = parseEnvelope(body)
  if (!parsed.readable) throw new Error(parsed.reason)
  const { envelope } = parsed
  await recordDelivery(system.database.ledger, {
    envelope,
    raw: body,
    source: 'webhook',
    graceMs: 60_000,
  })
  await query(`UPDATE sume_events SET state = 'done' WHERE dedupe_key = '${jobId}'`)
  expect(await found()).toEqual([`${jobId}: its follow-up never ran`])
})

test('a claim beside a valid lease, and beside one that has run out', async () => {
  const claim = (token: string, until: string) =>
    query(
      `UPDATE sume_events SET lease_token = '${token}', leased_until = NOW(3) + INTERVAL ${until} SECOND WHERE dedupe_key = '${key}'`,
    )
  await claim('the first one is', '-1')
  await claim('0123456789abcdef', '60')
  expect(await found()).toEqual([])
  await claim('fedcba9876543210', '60')
  expect(await found()).toEqual([`${key}: attempt 1 began beside a valid lease`])
})

test('a job that is left in the queue', async () => {
  await system.queue.add('OK', { dedupeKey: key }, { jobId: 'evt-left', delay: 60_000 })
  expect(await found()).toEqual(['the queue has 1 jobs delayed'])
})
