import { randomUUID } from 'node:crypto'
import { readIntent, readIntentBody } from '@sume-inbox/shared/ledger'
import { type AppProcess, openTcpProxy, startApp } from '@sume-inbox/testing'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Bench, openBench } from './harness.ts'

const TOKEN = 'token_of_the_tests_only'
const WEBHOOK = 'https://inbox.example.com/webhooks/sume'
let bench: Bench
let worker: AppProcess
const start = (more: Record<string, string>) =>
  startApp('worker', {
    DATABASE_URL: bench.databaseUrl,
    REDIS_URL: bench.redisUrl,
    QUEUE_PREFIX: bench.prefix,
    FOLLOW_UPS: join(import.meta.dirname, 'fixtures/follow-ups.ts'),
    DATABASE_TIMEOUT_MS: '1000',
    ...more,
  })
beforeAll(async () => {
  bench = await openBench()
  worker = await start({ INTENTS_TOKEN: TOKEN, SUME_WEBHOOK_URL: WEBHOOK })
})
afterAll(async () => {
  await worker[Symbol.asyncDispose]()
  await bench[Symbol.asyncDispose]()
})

async function post(
  body: unknown,
  options: { headers?: Record<string, string>; url?: string } = {},
): Promise<{ status: number; headers: Headers; answer: Record<string, unknown> }> {
  const response = await fetch(`${options.url ?? worker.internalUrl}/intents`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${TOKEN}`,
      'content-type': 'application/json',
      ...options.headers,
    },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  })
  return {
    status: response.status,
    headers: response.headers,
    answer: (await response.json()) as Record<string, unknown>,
  }
}
const intent = (key: string = randomUUID()) => ({
  key,
  path: '/v1/image-router/generate',
  body: { model: 'm', prompt: 'a secret garden' },
})

test('201 for a new intent, 200 for the same again, with how it stands', async () => {
  const wanted = intent()
  expect(await post(wanted)).toMatchObject({
    status: 201,
    answer: { key: wanted.key, new: true, state: 'pending', sume_id: null },
  })
  expect(await post(wanted)).toMatchObject({ status: 200, answer: { key: wanted.key, new: false } })
  expect(JSON.parse((await readIntentBody(bench.ledger, wanted.key)) ?? '')).toEqual({
    ...wanted.body,
    mode: 'webhook',
    webhook_url: WEBHOOK,
  })
})

test('409 with both hashes for a key that is there for something else, and no prompt in it', async () => {
  const wanted = intent()
  await post(wanted)
  const { status, answer } = await post({ ...wanted, body: { model: 'other' } })
  expect(status).toBe(409)
  expect(answer['error']).toMatch(/sha256 [0-9a-f]{64}.*sha256 [0-9a-f]{64}/)
  expect(JSON.stringify(answer)).not.toContain('garden')
})

test.each([
  ['no token', {}],
  ['another token', { authorization: 'Bearer token_of_somebody_else' }],
  ['another scheme', { authorization: `Basic ${TOKEN}` }],
])('%s is 401, and nothing is written', async (_, headers) => {
  const wanted = intent()
  const { status, headers: answered } = await post(wanted, {
    headers: { authorization: '', ...headers },
  })
  expect(status).toBe(401)
  expect(answered.get('www-authenticate')).toBe('Bearer')
  expect(await readIntent(bench.ledger, wanted.key)).toBeNull()
})

test.each([
  ['no JSON', '{', 'that is no JSON'],
  ['nothing', '', 'that is no JSON'],
  ['not UTF-8', Buffer.from([0x7b, 0xe9, 0x7d]), 'not UTF-8'],
  ['deep', `{"body":${'['.repeat(5000)}${']'.repeat(5000)}}`, 'deeper than 100 levels'],
  ['an unknown field', { ...intent(), webhook_url: 'https://x/' }, 'unknown field webhook_url'],
  ['a list', '[]', 'expected a JSON object'],
  ['no key', { ...intent(), key: undefined }, 'key: 1 to 255'],
  ['a number for a key', { ...intent(), key: 7 }, 'key: 1 to 255'],
  ['a path to another host', { ...intent(), path: '//x' }, 'path:'],
  ['a text for a body', { ...intent(), body: 'x' }, 'body: a JSON object'],
])('%s is 400 and says what was expected', async (_, body, says) => {
  const { status, answer } = await post(body)
  expect(status).toBe(400)
  expect(answer['error']).toContain(says)
})

test('a number that JavaScript cannot hold is sent as it came, and letters in ASCII', async () => {
  const { key, path } = intent()
  const text = `{"key":"${key}","path":"${path}","body":{"mode":"poll","seed":12345678901234567890,"prompt":"é😀"}}`
  expect((await post(text)).status).toBe(201)
  expect(await readIntentBody(bench.ledger, key)).toBe(
    '{"mode":"poll","seed":12345678901234567890,"prompt":"\\u00e9\\ud83d\\ude00"}',
  )
  expect((await post(text)).status).toBe(200)
})

test('the scheme of the token may be written in lower case', async () => {
  const { status } = await post(intent(), { headers: { authorization: `bearer ${TOKEN}` } })
  expect(status).toBe(201)
})

test('any content type will do; a body over the limit is 413', async () => {
  expect((await post(intent(), { headers: { 'content-type': 'text/plain' } })).status).toBe(201)
  const large = { ...intent(), body: { prompt: 'x'.repeat(1024 * 1024) } }
  expect((await post(large)).status).toBe(413)
})

test('without INTENTS_TOKEN there is no such call', async () => {
  await using closed = await start({})
  expect((await post(intent(), { url: closed.internalUrl })).status).toBe(404)
})

test('without SUME_WEBHOOK_URL the body has to name one', async () => {
  await using other = await start({ INTENTS_TOKEN: TOKEN })
  const { status, answer } = await post(intent(), { url: other.internalUrl })
  expect(status).toBe(400)
  expect(answer['error']).toContain('set SUME_WEBHOOK_URL')
})

test('MySQL away: 503 with Retry-After; the same again is 201', async () => {
  const proxy = await openTcpProxy(bench.databaseUrl)
  const url = new URL(bench.databaseUrl)
  url.host = `127.0.0.1:${proxy.port}`
  await using cut = await start({
    DATABASE_URL: url.href,
    INTENTS_TOKEN: TOKEN,
    SUME_WEBHOOK_URL: WEBHOOK,
  })
  proxy.swallowRequests()
  const wanted = intent()
  const refused = await post(wanted, { url: cut.internalUrl })
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
  expect(JSON.stringify(refused.answer)).not.toContain('127.0.0.1')
  proxy.mend()
  proxy.cut()
  await expect.poll(async () => (await post(wanted, { url: cut.internalUrl })).status).toBe(201)
  await proxy.close()
})

test('neither the token nor a prompt is in the log', () => {
  expect(worker.output()).not.toContain(TOKEN)
  expect(worker.output()).not.toContain('garden')
})
