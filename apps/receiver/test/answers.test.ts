import { gzipSync } from 'node:zlib'
import { jobBody, runBody } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, type Door, openDoor, sha256, signed } from './door.ts'

const MIB = 1024 * 1024
let door: Door

beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door[Symbol.asyncDispose]())

/** Sends a body as Sume does. */
const send = (body: Buffer, headers: Record<string, string> = {}, path?: string) =>
  ask(door.url, {
    body,
    headers: { 'content-type': 'application/json', ...signed(body), ...headers },
    ...(path === undefined ? {} : { path }),
  })

/** The log's lines about deliveries since a point. */
const told = (from: number) => door.process.lines.slice(from).filter((line) => 'receipt' in line)

test('a first delivery is accepted, stored and enqueued; the next one is a duplicate', async () => {
  const { jobId, body } = jobBody()
  const from = door.process.lines.length
  expect(await send(body)).toMatchObject({ status: 200, body: { receipt: 'accepted' } })
  expect(await send(body)).toMatchObject({ status: 200, body: { receipt: 'duplicate' } })
  expect(await door.rows(jobId)).toMatchObject([
    { dedupe_key: jobId, deliveries: 2, diverged: 0, state: 'claimed', status: 'OK' },
  ])
  expect((await door.queued()).filter((key) => key === jobId)).toHaveLength(1)
  await expect.poll(() => told(from)).toHaveLength(2)
  expect(told(from)).toMatchObject([
    { receipt: 'accepted', status: 200, dedupeKey: jobId, event: 'job.completed', enqueued: true },
    { receipt: 'duplicate', status: 200, dedupeKey: jobId, enqueued: false },
  ])
})

test('a later delivery with another status marks the event, and the first payload stays', async () => {
  const { jobId, body } = jobBody()
  await send(body)
  const other = jobBody({ jobId, event: 'job.failed', status: 'ERROR' })
  expect((await send(other.body)).body).toEqual({ receipt: 'duplicate' })
  expect(await door.rows(jobId)).toMatchObject([
    { status: 'OK', diverged: 1, payload: body.toString(), deliveries: 2 },
  ])
})

test('a run is one event for each request_id', async () => {
  const first = runBody()
  const again = runBody({ runId: first.runId })
  for (const { body } of [first, again])
    expect((await send(body)).body).toEqual({ receipt: 'accepted' })
  expect((await send(first.body)).body).toEqual({ receipt: 'duplicate' })
  const rows = await door.rows(first.runId)
  expect(new Set(rows.map((row) => row.dedupe_key))).toEqual(
    new Set([first.dedupeKey, again.dedupeKey]),
  )
})

test.each(['job.completed', 'job.something.new', 'avatar'])(
  'the event name %s is stored and enqueued: the follow-up table decides',
  async (event) => {
    const { jobId, body } = jobBody({ event })
    expect((await send(body)).body).toEqual({ receipt: 'accepted' })
    expect(await door.queued()).toContain(jobId)
  },
)

test.each(['a:b', 'a:b:c', '123', '0', '-5', 'NaN'])(
  'the id %s is one event with exactly one job',
  async (jobId) => {
    const { body } = jobBody({ jobId })
    const answers = await Promise.all([send(body), send(body), send(body)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await door.rows(jobId)).toMatchObject([{ deliveries: 3 }])
    expect((await door.queued()).filter((key) => key === jobId)).toHaveLength(1)
  },
)

test.each([
  ['an id with an emoji in it', jobBody({ jobId: 'job_🎈' }).body, 'no usable job_id'],
  ['an id that looks like a run key', jobBody({ jobId: 'run:1' }).body, 'no usable job_id'],
  ['a number for an id', jobBody({ job_id: 0 }).body, 'no usable job_id'],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'not UTF-8'],
  ['no JSON', Buffer.from('hello'), 'not JSON'],
  ['nothing at all, signed', Buffer.alloc(0), 'not JSON'],
  ['a list', Buffer.from('[1]'), 'not an object'],
  [
    'an older event',
    Buffer.from('{"id":"evt_1","type":"avatar.ready","data":{"object":{"id":"av_1"}}}'),
    'no usable event',
  ],
  [
    'a compressed body, signed as it travels',
    gzipSync(jobBody({ jobId: 'job_compressed' }).body),
    'not UTF-8',
  ],
])('%s is quarantined whole with 202', async (_what, body, reason) => {
  const encoding = body[0] === 0x1f ? { 'content-encoding': 'gzip' } : undefined
  const before = await door.rows()
  expect(await send(body, encoding)).toMatchObject({
    status: 202,
    body: { receipt: 'quarantined' },
  })
  expect((await send(body, encoding)).status).toBe(202)
  const kept = (await door.quarantined()).filter((row) => row.body.equals(body))
  expect(kept).toMatchObject([{ reason, count: 2 }])
  expect(await door.rows()).toHaveLength(before.length)
})

test('the quarantine stays bounded, and trimming it gets in the way of no delivery', async () => {
  await using small = await openDoor({ env: { QUARANTINE_MAX_ROWS: '5' } })
  const bodies = Array.from({ length: 200 }, (_, i) => Buffer.from(`not JSON ${i % 40}`))
  const answers = await Promise.all(
    bodies.map((body) => ask(small.url, { body, headers: signed(body) })),
  )
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(bodies.length)
  const last = Buffer.from('the last one')
  await ask(small.url, { body: last, headers: signed(last) })
  await expect.poll(() => small.quarantined()).toHaveLength(5)
  expect((await small.quarantined()).map(({ body }) => body)).toContainEqual(last)
})

test('a compressed body that is signed over the plain text is not decompressed to find out', async () => {
  const { jobId, body } = jobBody()
  const answer = await ask(door.url, {
    body: gzipSync(body),
    headers: { 'content-encoding': 'gzip', ...signed(body) },
  })
  expect(answer.status).toBe(401)
  expect(await door.rows(jobId)).toEqual([])
})

test('a body is stored byte for byte, however odd it is', async () => {
  const odd = Buffer.from(
    String.raw` { "event" :"job.completed", "status":"OK","status":"OK", "job_id":"job_odd", "request_id" : "job_odd",` +
      String.raw` "n":1e2, "big":12345678901234567890, "huge":1e400, "a":"\u00e9é🎈", "lone":"\ud800", "__proto__":{"x":1} }` +
      '\r\n\t',
  )
  expect((await send(odd)).body).toEqual({ receipt: 'accepted' })
  const [row] = await door.rows('job_odd')
  expect(sha256(row?.payload ?? '')).toBe(sha256(odd))
})

test.each([
  ['none', undefined],
  ['a malformed one', 'json'],
  ['an empty one', ''],
  ['another', 'text/plain; charset=latin1'],
  ['a form', 'multipart/form-data'],
])('the content type makes no difference: %s', async (_, type) => {
  const { jobId, body } = jobBody({ note: 'é' })
  const headers = { ...signed(body), ...(type === undefined ? {} : { 'content-type': type }) }
  const answer = await ask(door.url, { body, headers })
  expect(answer).toMatchObject({ status: 200, body: { receipt: 'accepted' } })
  expect((await door.rows(jobId))[0]?.payload).toBe(body.toString())
})

test('the query string is ignored, and a body may come in chunks', async () => {
  const { body } = jobBody()
  expect((await send(body, {}, '/webhooks/sume?a=1&a=2')).body).toEqual({ receipt: 'accepted' })
  const chunked = await ask(door.url, { body, headers: signed(body), chunked: true })
  expect(chunked.body).toEqual({ receipt: 'duplicate' })
})

test('a body of exactly the limit is stored; one byte more is 413, signed or not, chunked or not', async () => {
  const { body } = jobBody({ pad: '' })
  const exactly = jobBody({
    jobId: 'job_of_the_limit',
    pad: 'x'.repeat(MIB - jobBody({ jobId: 'job_of_the_limit', pad: '' }).body.length),
  })
  expect(exactly.body).toHaveLength(MIB)
  expect((await send(exactly.body)).body).toEqual({ receipt: 'accepted' })
  expect((await door.rows('job_of_the_limit'))[0]?.payload).toHaveLength(MIB)

  const tooLarge = Buffer.concat([exactly.body, Buffer.from(' ')])
  const refused = { status: 413, body: { error: 'too large' } }
  expect(await send(tooLarge)).toMatchObject(refused)
  expect(await ask(door.url, { body: tooLarge })).toMatchObject(refused)
  const chunked = { body: tooLarge, headers: signed(tooLarge), chunked: true }
  expect(await ask(door.url, chunked)).toMatchObject(refused)
  expect((await send(body)).status).toBe(200)
})

test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])(
  '%s on the webhook path is 405 and says what is allowed',
  async (method) => {
    const answer = await ask(door.url, { method, headers: { 'content-type': 'json' } })
    expect(answer.status).toBe(405)
    expect(answer.headers['allow']).toBe('POST')
  },
)

test.each(['/', '/webhooks', '/webhooks/sume/x', '/webhooks/sumex', '/%zz', '/metrics'])(
  '%s is 404 with words of our own',
  async (path) => {
    const headers = { 'content-type': 'json' }
    const answer = await ask(door.url, { path, headers, body: Buffer.from('x') })
    expect(answer).toMatchObject({ status: 404, body: { error: 'not found' } })
  },
)

test('the probes answer on both ports; the internal port takes no deliveries', async () => {
  const { url, internalUrl } = door.process
  for (const at of [url, internalUrl]) {
    expect(await ask(at, { method: 'GET', path: '/health/live' })).toMatchObject({ status: 200 })
    expect(await ask(at, { method: 'GET', path: '/health/ready' })).toMatchObject({
      status: 200,
      body: { status: 'ready' },
    })
  }
  const { body } = jobBody()
  expect((await ask(internalUrl, { body, headers: signed(body) })).status).toBe(404)
})

test('a bug of our own is 500 in our own words, told once, and loses nothing else', async () => {
  await using broken = await openDoor()
  // No such schema is ever made: the statement fails for a reason that waiting does not mend.
  await broken.database.ledger.query('ALTER TABLE sume_events MODIFY payload VARCHAR(5) NOT NULL')
  const { jobId, body } = jobBody()
  const answer = await ask(broken.url, { body, headers: signed(body) })
  expect(answer).toMatchObject({ status: 500, body: { error: 'internal error' } })
  await expect
    .poll(() => broken.process.lines.filter((line) => 'receipt' in line))
    .toMatchObject([{ receipt: 'failed', status: 500, level: 50 }])
  await broken.database.ledger.query('ALTER TABLE sume_events MODIFY payload LONGTEXT NOT NULL')
  expect((await ask(broken.url, { body, headers: signed(body) })).status).toBe(200)
  expect(await broken.rows(jobId)).toHaveLength(1)
})

test('what people wrote, secrets and URLs reach neither the log nor the queue', async () => {
  const from = door.process.output().length
  const { body } = jobBody({ prompt: 'kite-in-the-wind' })
  await send(
    body,
    { authorization: 'Bearer kite-in-the-wind' },
    '/webhooks/sume?t=kite-in-the-wind',
  )
  await send(Buffer.from('kite-in-the-wind'))
  await ask(door.url, { body })
  await ask(door.url, { method: 'GET', path: '/kite-in-the-wind' })
  await send(Buffer.alloc(MIB + 1, 'kite-in-the-wind'))
  await expect.poll(() => door.process.output().slice(from)).toContain('BODY_LIMIT_BYTES')
  const output = door.process.output()
  for (const secret of [
    'kite',
    door.env['SUME_WEBHOOK_SECRETS'],
    new URL(door.database.url).password,
  ])
    expect(output).not.toContain(secret)
  expect((await door.queued()).join(' ')).not.toContain('kite')
})
