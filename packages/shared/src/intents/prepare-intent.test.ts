import { expect, test } from 'vitest'
import { IntentProblem, isSameSubmit, prepareIntent } from './prepare-intent.ts'

const URL = 'https://inbox.example.com/webhooks/sume'
const request = { key: 'k', path: '/v1/image-router/generate', body: { model: 'm' } }

test('where the body says nothing about a webhook, ours is added', () => {
  expect(prepareIntent(request, URL)).toEqual({
    ...request,
    kind: 'job',
    body: `{"model":"m","mode":"webhook","webhook_url":"${URL}"}`,
  })
})

test.each([
  [
    'a webhook_url of its own',
    { webhook_url: 'https://x/' },
    { webhook_url: 'https://x/', mode: 'webhook' },
  ],
  [
    'both',
    { webhook_url: 'https://x/', mode: 'webhook' },
    { webhook_url: 'https://x/', mode: 'webhook' },
  ],
  ['another mode', { mode: 'poll' }, { mode: 'poll' }],
])('%s stays', (_, body, becomes) => {
  expect(JSON.parse(prepareIntent({ ...request, body }, URL).body)).toEqual(becomes)
})

test('a Format’s path makes a run, every other one a job, unless it is said', () => {
  const kind = (path: string, said?: 'job' | 'run') =>
    prepareIntent({ ...request, path, ...(said === undefined ? {} : { kind: said }) }, URL).kind
  expect(kind('/v1/formats/f_1/runs')).toBe('run')
  expect(kind('/v1/models/sume/avatar/v1.0/runs')).toBe('job')
  expect(kind('/v2/new/things', 'run')).toBe('run')
  expect(kind('/v1/formats/f_1/runs?x=1')).toBe('run')
})

test('every problem is named at once', () => {
  const wrong = { key: 'a b', path: 'v1/x', body: [], kind: 'film' } as never
  expect(() => prepareIntent(wrong, URL)).toThrow(
    new IntentProblem([
      'key: 1 to 255 printable ASCII characters without spaces',
      "path: Sume's path from its first slash, 255 printable ASCII characters at most",
      'body: a JSON object',
      'kind: job or run',
    ]),
  )
})

test.each([
  ['no key', { ...request, key: undefined }],
  ['an empty key', { ...request, key: '' }],
  ['a key of 256 characters', { ...request, key: 'k'.repeat(256) }],
  ['a key with an accent', { ...request, key: 'é' }],
  ['no path', { ...request, path: undefined }],
  ['a path that is another host', { ...request, path: '//evil.example.com/x' }],
  ['a path of 256 characters', { ...request, path: `/${'x'.repeat(255)}` }],
  ['no body', { ...request, body: undefined }],
  ['a body that is null', { ...request, body: null }],
])('%s is refused', (_, wrong) => {
  expect(() => prepareIntent(wrong as never, URL)).toThrow(IntentProblem)
})

test.each([
  [
    'a cycle',
    Object.assign(
      {},
      {
        get self() {
          return this
        },
      },
    ),
  ],
  ['a BigInt', { seed: 1n }],
  ['a date', new Date()],
  ['a map', new Map([['model', 'm']])],
  ['more than 100 levels', { a: JSON.parse('['.repeat(100) + ']'.repeat(100)) as unknown }],
  ['over 8 MiB', { prompt: 'x'.repeat(8 * 1024 * 1024) }],
])('a body that has %s is refused', (_, body) => {
  expect(() => prepareIntent({ ...request, body: body as never }, URL)).toThrow(IntentProblem)
})

test('what is undefined is not said, and an empty setting is none', () => {
  const body = (given: object, url = URL) =>
    JSON.parse(prepareIntent({ ...request, body: given as never }, url).body) as unknown
  expect(body({ model: 'm', mode: undefined })).toEqual({
    model: 'm',
    mode: 'webhook',
    webhook_url: URL,
  })
  expect(body({ webhook_url: undefined })).toEqual({ mode: 'webhook', webhook_url: URL })
  expect(() => body({ model: 'm' }, '')).toThrow('set SUME_WEBHOOK_URL')
})

test('the bytes are ASCII, and mean the same', () => {
  const body = { model: 'm', mode: 'poll', prompt: 'é 日本語 😀 \u2028 \ud800' }
  const { body: text } = prepareIntent({ ...request, body }, URL)
  expect(text).toMatch(/^[\x20-\x7e]+$/)
  expect(JSON.parse(text)).toEqual(body)
})

test('without a webhook_url anywhere nobody would be told: refused', () => {
  expect(() => prepareIntent(request, undefined)).toThrow('set SUME_WEBHOOK_URL')
  expect(() => prepareIntent({ ...request, body: { mode: 'poll' } }, undefined)).not.toThrow()
})

test('a stored body is the same submit when only our webhook_url has changed', () => {
  const { body: stored } = prepareIntent(request, URL)
  expect(isSameSubmit(request, stored)).toBe(true)
  expect(isSameSubmit({ ...request, body: { model: 'other' } }, stored)).toBe(false)
  expect(
    isSameSubmit({ ...request, body: { model: 'm', webhook_url: 'https://x/' } }, stored),
  ).toBe(false)
  expect(isSameSubmit(request, 'not JSON')).toBe(false)
  expect(isSameSubmit(request, 'null')).toBe(false)
})
