import { expect, test } from 'vitest'
import { LedgerError } from '../ledger/index.ts'
import { refusedError, unreachedError, unreadableError } from '../sume/sume-error.ts'
import { judgeSubmit } from './submit-verdict.ts'

const backoff = { baseMs: 1000, capMs: 60_000 }
const judge = (error: unknown, attempt = 1) => judgeSubmit(error, attempt, backoff, () => 1)

const refused = (
  status: number,
  error: Record<string, unknown> = {},
  headers: Record<string, string> = {},
) =>
  refusedError('POST /v1/x', {
    status,
    headers: new Headers(headers),
    text: JSON.stringify({ error: { code: 'some_code', ...error }, request_id: 'req_1' }),
  })

test.each([400, 401, 403, 404, 409, 410, 413, 422])('%i is definite: rejected', (status) => {
  expect(judge(refused(status))).toEqual({
    state: 'rejected',
    error: { text: `POST /v1/x: ${status} some_code`, code: 'some_code', requestId: 'req_1' },
  })
})

test('409 idempotency_conflict is a conflict, and only that 409 is', () => {
  expect(judge(refused(409, { code: 'idempotency_conflict' })).state).toBe('conflict')
  expect(judge(refused(409, { code: 'other' })).state).toBe('rejected')
  expect(judge(refused(500, { code: 'idempotency_conflict' })).state).toBe('pending')
})

test.each([301, 302, 307, 308, 408, 425, 429, 500, 502, 503, 504, 599])(
  '%i leaves it open whether it was paid: again, with the same key',
  (status) => {
    expect(judge(refused(status))).toMatchObject({ state: 'pending', delayMs: 1000 })
  },
)

test('after a try without a definite answer, a refusal of the caller leaves it open whether that one was paid', () => {
  for (const status of [401, 402, 403]) {
    expect(judge(refused(status), 1).state).toBe('rejected')
    expect(judge(refused(status), 2)).toMatchObject({ state: 'pending', delayMs: 2000, pauseMs: 0 })
  }
  // These are about the submit itself, which would not have been refused had its key been known.
  for (const status of [400, 404, 422])
    expect(judge(refused(status), 2)).toMatchObject({ state: 'rejected' })
})

test("Sume's own word about a retry beats the status", () => {
  expect(judge(refused(503, { retryable: false })).state).toBe('rejected')
  expect(judge(refused(422, { retryable: true })).state).toBe('pending')
})

test.each([
  ['the network', unreachedError('POST /v1/x', new Error('ECONNRESET'))],
  ['a 2xx that cannot be read', unreadableError('POST /v1/x', 200, 'it is empty')],
  ['an error of ours', new TypeError('a bug')],
  ['the ledger', new LedgerError('LEASE_LOST', 'gone')],
])('%s is no definite answer', (_, error) => {
  expect(judge(error)).toMatchObject({ state: 'pending', delayMs: 1000, pauseMs: 0 })
})

test('retry-after is waited for by this intent and by all others, up to the longest backoff', () => {
  const at = (seconds: string) => judge(refused(429, {}, { 'retry-after': seconds }))
  expect(at('7')).toMatchObject({ delayMs: 7000, pauseMs: 7000 })
  expect(at('0')).toMatchObject({ delayMs: 1000, pauseMs: 1000 })
  expect(at('999999')).toMatchObject({ delayMs: 60_000, pauseMs: 60_000 })
  // A date is not understood, so it counts as none.
  expect(at('Wed, 21 Oct 2026 07:28:00 GMT')).toMatchObject({ delayMs: 1000, pauseMs: 1000 })
  expect(judge(refused(503, {}, { 'retry-after': '7' }))).toMatchObject({ pauseMs: 7000 })
  expect(judge(refused(500))).toMatchObject({ pauseMs: 0 })
})

test('the delay grows with the tries and has an end', () => {
  const delays = [1, 2, 3, 7, 60].map((attempt) => judge(refused(500), attempt))
  expect(delays).toMatchObject([1000, 2000, 4000, 60_000, 60_000].map((delayMs) => ({ delayMs })))
})
