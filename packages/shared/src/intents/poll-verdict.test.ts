import { expect, test } from 'vitest'
import { refusedError, unreachedError, unreadableError } from '../sume/sume-error.ts'
import type { SumeStatus } from '../sume/index.ts'
import { judgePoll } from './poll-verdict.ts'

const rules = { afterMs: 120_000, horizonMs: 1_000_000 }
const says = (status: string, recommendedMs = 2000): SumeStatus => ({
  status,
  recommendedMs,
  error: null,
  result: null,
})
const judge = (
  answer: Parameters<typeof judgePoll>[0]['answer'],
  more: { kind?: 'job' | 'run'; polls?: number; ageMs?: number } = {},
) => judgePoll({ kind: 'job', polls: 0, ageMs: 0, answer, ...more }, rules)
const refused = (status: number, headers: Record<string, string> = {}) =>
  refusedError('GET /v1/x', { status, headers: new Headers(headers), text: '' })

test.each(
  'completed succeeded success failed nsfw error errored expired canceled cancelled COMPLETED'.split(
    ' ',
  ),
)('%s is an end', (status) => {
  expect(judge(says(status))).toEqual({ what: 'ended' })
  // Also long after: a known outcome is never lost.
  expect(judge(says(status), { ageMs: rules.horizonMs })).toEqual({ what: 'ended' })
})

test('only a run can be skipped', () => {
  expect(judge(says('skipped'), { kind: 'run' })).toEqual({ what: 'ended' })
  expect(judge(says('skipped'))).toMatchObject({ what: 'open' })
})

test.each(['queued', 'processing'])('%s is asked about again', (status) => {
  expect(judge(says(status))).toEqual({ what: 'open', delayMs: 120_000 })
})

test('a word that nobody knows is no end, and is told', () => {
  expect(judge(says('dreaming'))).toEqual({
    what: 'open',
    delayMs: 120_000,
    error: 'Sume says dreaming, which is no word that we know',
  })
})

test('the interval doubles up to an hour', () => {
  const delays = [0, 1, 2, 3, 4, 5, 6, 1000].map((polls) => judge(says('queued'), { polls }))
  const minutes = [2, 4, 8, 16, 32, 60, 60, 60]
  expect(delays).toEqual(minutes.map((m) => ({ what: 'open', delayMs: m * 60_000 })))
})

test('it is never shorter than Sume recommends', () => {
  const quick = { ...rules, afterMs: 100 }
  const ask = (recommendedMs: number) =>
    judgePoll({ kind: 'job', polls: 0, ageMs: 0, answer: says('queued', recommendedMs) }, quick)
  expect(ask(2000)).toMatchObject({ delayMs: 2000 })
  expect(ask(7_200_000)).toMatchObject({ delayMs: 7_200_000 })
})

test('past the horizon an open one is lost, by Sume’s last word', () => {
  expect(judge(says('queued'), { ageMs: rules.horizonMs - 1 }).what).toBe('open')
  expect(judge(says('queued'), { ageMs: rules.horizonMs })).toEqual({
    what: 'lost',
    error: 'no outcome within the horizon; Sume says queued',
  })
  expect(judge(refused(404), { ageMs: rules.horizonMs })).toEqual({
    what: 'lost',
    error: 'no outcome within the horizon; GET /v1/x: 404',
  })
})

test('a completed job whose result cannot be had is asked about again, and past the horizon it has ended all the same', () => {
  const ask = (withoutResult: ReturnType<typeof refused>, ageMs = 0) =>
    judgePoll({ kind: 'job', polls: 0, ageMs, answer: says('completed'), withoutResult }, rules)
  expect(ask(refused(404))).toEqual({ what: 'open', delayMs: 120_000, error: 'GET /v1/x: 404' })
  expect(ask(refused(404), rules.horizonMs)).toEqual({ what: 'ended' })
  expect(ask(refused(503), rules.horizonMs)).toMatchObject({ what: 'away' })
})

test.each([301, 401, 403, 408, 429, 500, 503])(
  '%i says nothing about the job: the round ends, and nothing is lost by it',
  (status) => {
    expect(judge(refused(status), { ageMs: rules.horizonMs })).toMatchObject({
      what: 'away',
      delayMs: 10_000,
    })
  },
)

test('no answer at all is the same', () => {
  expect(judge(unreachedError('GET /v1/x', new Error('ETIMEDOUT')))).toMatchObject({ what: 'away' })
})

test('retry-after is waited for, an hour at most', () => {
  expect(judge(refused(429, { 'retry-after': '30' }))).toMatchObject({ delayMs: 30_000 })
  expect(judge(refused(429, { 'retry-after': '999999' }))).toMatchObject({ delayMs: 3_600_000 })
})

test.each([
  ['404', refused(404)],
  ['409: its result is not there yet', refused(409)],
  ['a 2xx that cannot be read', unreadableError('GET /v1/x', 200, 'it has no result')],
])('%s is about this one only: it is asked about again', (_, answer) => {
  expect(judge(answer, { polls: 1 })).toMatchObject({ what: 'open', delayMs: 240_000 })
})
