import { type AppProcess, jobBody, TEST_SECRET } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, type Door, nowSeconds, openDoor, signed } from './door.ts'

const OLD_SECRET = 'whsec_before_the_rotation'
let door: Door
/** A receiver whose MySQL is away: what needs a query is 503 there. */
let cutOff: AppProcess

beforeAll(async () => {
  door = await openDoor()
  cutOff = await door.another({ DATABASE_URL: 'mysql://root@127.0.0.1:1/away' })
})
afterAll(() => door[Symbol.asyncDispose]())

const { jobId, body } = jobBody()
// Signed once: two calls could fall into two seconds, and their parts would not belong together.
const stamp = signed(body)
const good = () => stamp
const hex = () => good()['x-sume-signature'].slice('v1='.length)
const withSignature = (signature: string | string[]) => ({
  ...good(),
  'x-sume-signature': signature,
})
const withTimestamp = (timestamp: string | string[]) => ({
  ...good(),
  'x-sume-timestamp': timestamp,
})

const unsigned: [string, () => Record<string, string | string[]>][] = [
  ['no headers at all', () => ({})],
  ['no signature', () => ({ 'x-sume-timestamp': good()['x-sume-timestamp'] })],
  ['no timestamp', () => ({ 'x-sume-signature': good()['x-sume-signature'] })],
  ['an empty signature', () => withSignature('')],
  ['a signature of three characters', () => withSignature('v1=abc')],
  ['one of 63', () => withSignature(`v1=${hex().slice(1)}`)],
  ['one of 65', () => withSignature(`v1=${hex()}0`)],
  ['64 characters that are no hex', () => withSignature(`v1=${'z'.repeat(64)}`)],
  ['64 characters in 65 bytes', () => withSignature(`v1=\u00e9${'a'.repeat(63)}`)],
  ['no version', () => withSignature(hex())],
  ['another version', () => withSignature(`v2=${hex()}`)],
  ['a wrong signature', () => withSignature(`v1=${'0'.repeat(64)}`)],
  ['seventeen values', () => withSignature(`${'v2=x '.repeat(16)}v1=${hex()}`)],
  ['the signature header twice', () => withSignature(Array(2).fill(`v1=${hex()}`) as string[])],
  [
    'the timestamp header twice',
    () => withTimestamp(Array(2).fill(String(nowSeconds())) as string[]),
  ],
  ['a signature 302 s old', () => signed(body, 302)],
  ['one from 302 s ahead', () => signed(body, -302)],
  ['a timestamp with letters', () => withTimestamp('1700000000abc')],
  ['milliseconds', () => withTimestamp(String(Date.now()))],
  ['a timestamp that was not signed', () => withTimestamp(String(nowSeconds() - 5))],
  ['another secret', () => signed(body, 0, 'whsec_of_somebody_else')],
]

test.each(unsigned)('%s: 401, the same for all, and no query', async (_, headers) => {
  for (const { url } of [door, cutOff]) {
    const answer = await ask(url, { body, headers: headers() })
    expect(answer).toMatchObject({ status: 401, body: { error: 'not signed' } })
  }
})

test('an empty POST without type or body is 401', async () => {
  expect((await ask(cutOff.url)).status).toBe(401)
})

test('after all that nothing is written; a good delivery is, and without MySQL it is 503', async () => {
  expect(await door.rows()).toEqual([])
  expect(await door.quarantined()).toEqual([])
  expect((await ask(cutOff.url, { body, headers: good() })).status).toBe(503)
  const answer = await ask(door.url, { body, headers: good() })
  expect(answer.body).toEqual({ receipt: 'accepted' })
  expect(await door.rows(jobId)).toHaveLength(1)
})

test.each([298, -298])('a signature of %i s ago is within the tolerance', async (age) => {
  expect((await ask(door.url, { body, headers: signed(body, age) })).status).toBe(200)
})

test('upper-case hex, and a good value among others, are signatures too', async () => {
  const wrong = `v1=${'0'.repeat(64)}`
  for (const signature of [
    `v1=${hex().toUpperCase()}`,
    `${wrong},v1=${hex()}`,
    `${wrong} v1=${hex()}`,
    `v9=later, v1=${hex()}`,
  ]) {
    const answer = await ask(door.url, { body, headers: withSignature(signature) })
    expect(answer.status, signature).toBe(200)
  }
})

test('while a secret is rotated either one will do; after that the old one is refused', async () => {
  const rotating = await door.another({ SUME_WEBHOOK_SECRETS: `${TEST_SECRET},${OLD_SECRET}` })
  const old = () => signed(body, 0, OLD_SECRET)
  expect((await ask(rotating.url, { body, headers: good() })).status).toBe(200)
  expect((await ask(rotating.url, { body, headers: old() })).status).toBe(200)
  expect((await ask(door.url, { body, headers: old() })).status).toBe(401)
})

test('the headers have the names that the settings give them', async () => {
  const renamed = await door.another({
    SUME_SIGNATURE_HEADER: 'X-Other-Signature',
    SUME_TIMESTAMP_HEADER: 'X-Other-Timestamp',
  })
  expect((await ask(renamed.url, { body, headers: good() })).status).toBe(401)
  const headers = {
    'x-other-signature': good()['x-sume-signature'],
    'x-other-timestamp': good()['x-sume-timestamp'],
  }
  expect((await ask(renamed.url, { body, headers })).status).toBe(200)
})
