import { expect, test } from 'vitest'
import type { Unreadable } from './envelope.ts'
import { isUsableId, parseEnvelope, runKey } from './parse-envelope.ts'

const JOB = 'job_5f0c'
const job = (fields: Record<string, unknown> = {}) => ({
  event: 'job.completed',
  status: 'OK',
  job_id: JOB,
  request_id: JOB,
  ...fields,
})
const run = (fields: Record<string, unknown> = {}) => ({
  event: 'run.completed',
  status: 'OK',
  run_id: 'run_1',
  request_id: 'req_1',
  ...fields,
})
const parse = (body: unknown) => parseEnvelope(Buffer.from(JSON.stringify(body)))
const parseText = (text: string) => parseEnvelope(Buffer.from(text))
const deep = (levels: number) =>
  `{"event":"job.completed","status":"OK","job_id":"${JOB}","x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`

const jobEnvelope = {
  dedupeKey: JOB,
  kind: 'job',
  sumeId: JOB,
  requestId: JOB,
  event: 'job.completed',
  status: 'OK',
}
const runEnvelope = {
  dedupeKey: 'run:req_1',
  kind: 'run',
  sumeId: 'run_1',
  requestId: 'req_1',
  event: 'run.completed',
  status: 'OK',
}

test.each<[string, unknown, object]>([
  ['a completed job', job(), jobEnvelope],
  [
    'a failed job',
    job({ event: 'job.failed', status: 'ERROR' }),
    { event: 'job.failed', status: 'ERROR' },
  ],
  [
    'a job with an event of another name',
    job({ event: 'render.ended' }),
    { event: 'render.ended', kind: 'job' },
  ],
  [
    'an event with a space, and one of 64 characters',
    job({ event: 'j'.repeat(63) + ' ' }),
    { kind: 'job' },
  ],
  ['a job that names its run as well', job({ run_id: 'run_1' }), { kind: 'job', dedupeKey: JOB }],
  [
    'a job without a request_id',
    job({ request_id: undefined }),
    { requestId: null, dedupeKey: JOB },
  ],
  ['a job with a null request_id', job({ request_id: null }), { requestId: null }],
  ['a job whose run_id is null', { ...job({ event: 'ended' }), run_id: null }, { kind: 'job' }],
  [
    'ids with every odd character that is allowed',
    job({ job_id: '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~' }),
    { kind: 'job' },
  ],
  ['an id of 64 characters', job({ job_id: 'j'.repeat(64) }), { dedupeKey: 'j'.repeat(64) }],
  ['a completed run', run(), runEnvelope],
  [
    'a run without a request_id',
    run({ request_id: undefined }),
    { dedupeKey: 'run:run_1', requestId: null },
  ],
  [
    'a run with a null request_id',
    run({ request_id: null }),
    { dedupeKey: 'run:run_1', requestId: null },
  ],
  ['a run by its id alone', run({ event: 'ended' }), { kind: 'run' }],
  [
    'a run that names its job as well',
    run({ job_id: JOB }),
    { kind: 'run', dedupeKey: 'run:req_1' },
  ],
  [
    'a run with ids of 64 characters',
    run({ request_id: 'r'.repeat(64) }),
    { dedupeKey: `run:${'r'.repeat(64)}` },
  ],
])('%s is read', (_what, body, envelope) => {
  expect(parse(body)).toMatchObject({ readable: true, envelope })
})

test.each<[string, unknown, object]>([
  ['another request_id', job({ request_id: 'req_9' }), { requestId: 'req_9', dedupeKey: JOB }],
  ['a request_id that is a number', job({ request_id: 7 }), { requestId: null, dedupeKey: JOB }],
  ['an empty request_id', job({ request_id: '' }), { requestId: null, dedupeKey: JOB }],
  ['a request_id with a space', job({ request_id: 'a b' }), { requestId: null, dedupeKey: JOB }],
])('a job with %s keeps its job_id for a key, and is called odd', (_what, body, envelope) => {
  expect(parse(body)).toMatchObject({ readable: true, envelope, odd: expect.any(String) })
})

test('what Sume promises is not called odd', () => {
  for (const body of [job(), job({ request_id: null }), run()])
    expect(parse(body)).not.toHaveProperty('odd')
})

const unusableIds: [string, unknown][] = [
  ['missing', undefined],
  ['null', null],
  ['a number', 12345],
  ['zero', 0],
  ['true', true],
  ['a list', [JOB]],
  ['an object', { toString: JOB }],
  ['empty', ''],
  ['with a space', 'job 1'],
  ['with a space at the end', 'job_1 '],
  ['with a line feed at the end', 'job_1\n'],
  ['with a zero byte', 'job_1\u0000'],
  ['with an emoji', 'job_🦀'],
  ['with an accent', 'jób_1'],
  ['of 65 characters', 'j'.repeat(65)],
]

test.each(unusableIds)('a job_id that is %s is not usable', (_what, id) => {
  expect(parse(job({ job_id: id }))).toEqual({ readable: false, reason: 'no usable job_id' })
})

test('a job_id that looks like the key of a run is not usable', () => {
  expect(parse(job({ job_id: 'run:1' }))).toEqual({ readable: false, reason: 'no usable job_id' })
})

test.each(unusableIds)('a run_id that is %s is not usable', (_what, id) => {
  expect(parse(run({ run_id: id }))).toEqual({ readable: false, reason: 'no usable run_id' })
})

test.each(unusableIds.slice(2))('a run with a request_id that is %s is unreadable', (_what, id) => {
  expect(parse(run({ request_id: id }))).toEqual({ readable: false, reason: 'unusable request_id' })
})

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)))

test.each<[string, Buffer, Unreadable]>([
  ['no body', Buffer.alloc(0), 'not JSON'],
  ['a byte order mark', bytes([0xef, 0xbb, 0xbf], JSON.stringify(job())), 'not JSON'],
  ['a byte that is not UTF-8', bytes('{"event":"', [0xff], '"}'), 'not UTF-8'],
  ['a character cut short', bytes('{"event":"', [0xe2, 0x82], '"}'), 'not UTF-8'],
  ['a surrogate encoded as UTF-8', bytes('{"event":"', [0xed, 0xa0, 0x80], '"}'), 'not UTF-8'],
  ['an overlong slash', bytes('{"event":"', [0xc0, 0xaf], '"}'), 'not UTF-8'],
  ['a form', bytes('event=job.completed&status=OK'), 'not JSON'],
  ['something after the object', bytes(JSON.stringify(job()), 'x'), 'not JSON'],
  ['a trailing comma', bytes('{"event":"job.completed",}'), 'not JSON'],
  ['NaN', bytes('{"event":NaN}'), 'not JSON'],
  ['a list', bytes(JSON.stringify([job()])), 'not an object'],
  ['null', bytes('null'), 'not an object'],
  ['a string', bytes('"job.completed"'), 'not an object'],
  ['a number', bytes('1'), 'not an object'],
  ['101 levels', bytes(deep(101)), 'deeper than 100 levels'],
  ['half a million levels', bytes(deep(500_000)), 'deeper than 100 levels'],
  ['an empty object', bytes('{}'), 'no usable event'],
  [
    'the shape of an older event',
    bytes('{"id":"evt_1","type":"avatar.ready","data":{"object":{"id":"1"}}}'),
    'no usable event',
  ],
])('%s is quarantined', (_what, raw, reason) => {
  expect(parseEnvelope(raw)).toEqual({ readable: false, reason })
})

test.each<[string, unknown, Unreadable]>([
  ['an event that is empty', job({ event: '' }), 'no usable event'],
  ['an event of 65 characters', job({ event: 'j'.repeat(65) }), 'no usable event'],
  ['an event with an accent', job({ event: 'jób' }), 'no usable event'],
  ['an event with a line feed', job({ event: 'job.completed\n' }), 'no usable event'],
  ['an event that is a number', job({ event: 1 }), 'no usable event'],
  ['a status in lower case', job({ status: 'ok' }), 'status is neither OK nor ERROR'],
  ['a status with a space', job({ status: 'OK ' }), 'status is neither OK nor ERROR'],
  ['another status', job({ status: 'CANCELED' }), 'status is neither OK nor ERROR'],
  ['no status', job({ status: undefined }), 'status is neither OK nor ERROR'],
  ['a status in a list', job({ status: ['OK'] }), 'status is neither OK nor ERROR'],
  ['both ids and no kind', { ...job({ event: 'ended' }), run_id: 'run_1' }, 'kind unclear'],
  ['neither id and no kind', { event: 'ended', status: 'OK', request_id: 'req_1' }, 'kind unclear'],
  ['a run with a job_id only', { ...job({ event: 'run.completed' }) }, 'no usable run_id'],
  ['a job with a run_id only', { ...run({ event: 'job.completed' }) }, 'no usable job_id'],
])('%s is quarantined', (_what, body, reason) => {
  expect(parse(body)).toEqual({ readable: false, reason })
})

test('a hundred levels are read, and brackets in strings are no levels', () => {
  expect(parseText(deep(100))).toMatchObject({ readable: true })
  const brackets = job({ prompt: `${'[{'.repeat(200)}"\\` })
  expect(parse(brackets)).toMatchObject({ readable: true })
})

test('of keys that are there twice the last one counts, as JSON.parse has it', () => {
  const text = `{"event":"job.completed","status":"OK","job_id":"job_first","job_id":"job_last"}`
  expect(parseText(text)).toMatchObject({ envelope: { dedupeKey: 'job_last' } })
})

test('fields come from the body itself, never from a prototype', () => {
  const text = `{"event":"job.completed","status":"OK","__proto__":{"job_id":"job_1"}}`
  expect(parseText(text)).toEqual({ readable: false, reason: 'no usable job_id' })
  expect(parse(job({ constructor: 1, toString: 1 }))).toMatchObject({ readable: true })
})

test('lone surrogate escapes and numbers out of range elsewhere in the body do no harm', () => {
  const text = String.raw`{"event":"job.completed","status":"OK","job_id":"job_1","prompt":"\ud800","n":1e400}`
  expect(parseText(text)).toMatchObject({ readable: true })
})

test('the key of a run is its own, also where the id looks like a job', () => {
  expect(runKey(JOB)).toBe(`run:${JOB}`)
  expect(isUsableId(JOB)).toBe(true)
  expect(isUsableId(`${JOB}\n`)).toBe(false)
})
