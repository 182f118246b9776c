import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { closedPort, sume } from './sume.ts'

const SECRET = 'whsec_cli_test_0123456789'
const env = { SUME_WEBHOOK_SECRETS: `${SECRET},whsec_the_previous_one_0` }

interface Received {
  readonly request: IncomingMessage
  readonly body: Buffer
}

let server: Server
let to: string
let received: Received[]
let answers: number[]
let folder: string

beforeEach(async () => {
  received = []
  answers = []
  folder = await mkdtemp(join(tmpdir(), 'sume-cli-'))
  server = createServer((request, response) => {
    void answer(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  to = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/sume`
})

afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await rm(folder, { recursive: true })
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  received.push({ request, body: await buffer(request) })
  response.writeHead(answers.shift() ?? 200, { location: '/elsewhere' })
  response.end('{"receipt":"accepted"}')
}

const only = (): Received => {
  expect(received).toHaveLength(1)
  return received[0] as Received
}

/** Verifies as the contract says, with nothing of the project's. */
function expectSigned({ request, body }: Received, secret: string, prefix = 'x-sume'): void {
  const timestamp = String(request.headers[`${prefix}-timestamp`])
  expect(timestamp).toMatch(/^\d{10}$/)
  expect(Math.abs(Date.now() / 1000 - Number(timestamp))).toBeLessThan(30)
  const hex = createHmac('sha256', secret)
    .update(Buffer.concat([Buffer.from(`${timestamp}.`), body]))
    .digest('hex')
  expect(request.headers[`${prefix}-signature`]).toBe(`v1=${hex}`)
}

test.each([
  ['job.completed', 'OK'],
  ['job.failed', 'ERROR'],
  ['job.canceled', 'ERROR'],
  ['run.completed', 'OK'],
  ['run.failed', 'ERROR'],
])('%s is one POST, signed with the first secret, of status %s', async (event, status) => {
  const ran = await sume(['trigger', event, '--to', to], env)
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(ran.stdout).toContain('200  {"receipt":"accepted"}')
  expect(only().request).toMatchObject({ method: 'POST', url: '/webhooks/sume' })
  expectSigned(only(), SECRET)
  expect(JSON.parse(only().body.toString())).toMatchObject({ event, status })
})

test('the given ids and status are sent', async () => {
  const job = ['trigger', 'job.completed', '--job-id', 'job_7', '--status', 'ERROR', '--to', to]
  await sume(job, env)
  expect(JSON.parse(only().body.toString())).toMatchObject({
    job_id: 'job_7',
    request_id: 'job_7',
    status: 'ERROR',
  })
})

test('--times delivers the same bytes again, each signed', async () => {
  const ran = await sume(['trigger', 'job.failed', '--times', '3', '--to', to, '--json'], env)
  expect(ran.code).toBe(0)
  expect(new Set(received.map(({ body }) => body.toString())).size).toBe(1)
  expect(received).toHaveLength(3)
  for (const one of received) expectSigned(one, SECRET)
  const told = JSON.parse(ran.stdout) as { dedupeKey: string; deliveries: { status: number }[] }
  expect(told.deliveries.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(received[0]?.body.toString()).toContain(told.dedupeKey)
})

test('--body sends a file, or standard input, byte for byte', async () => {
  const bytes = Buffer.from([0x7b, 0xff, 0x00, 0x7d])
  await writeFile(join(folder, 'body'), bytes)
  await sume(['trigger', '--body', join(folder, 'body'), '--to', to], env)
  await sume(['trigger', '--body', '-', '--to', to], env, bytes)
  expect(received.map(({ body }) => body)).toEqual([bytes, bytes])
  for (const one of received) expectSigned(one, SECRET)
})

test('--secret-file signs with its secret, and no other is needed', async () => {
  await writeFile(join(folder, 'secret'), 'whsec_from_a_file_012\n')
  const file = ['--secret-file', join(folder, 'secret')]
  expect((await sume(['trigger', 'job.completed', '--to', to, ...file])).code).toBe(0)
  expectSigned(only(), 'whsec_from_a_file_012')
})

test('the header names are settings', async () => {
  await sume(['trigger', 'job.completed', '--to', to], {
    ...env,
    SUME_SIGNATURE_HEADER: 'X-Other-Signature',
    SUME_TIMESTAMP_HEADER: 'X-Other-Timestamp',
  })
  expectSigned(only(), SECRET, 'x-other')
  expect(only().request.headers).not.toHaveProperty('x-sume-signature')
})

test('SUME_WEBHOOK_URL is the default where it is on this machine, and never elsewhere', async () => {
  expect((await sume(['trigger', 'job.failed'], { ...env, SUME_WEBHOOK_URL: to })).code).toBe(0)
  expect(only().request.url).toBe('/webhooks/sume')
  const SUME_WEBHOOK_URL = 'https://inbox.example.com/webhooks/sume'
  const ran = await sume(['trigger', 'job.failed'], { ...env, SUME_WEBHOOK_URL })
  expect(ran.stdout).toContain('to http://127.0.0.1:8080/webhooks/sume')
})

test.each([302, 401, 503])(
  'one answer of %d among others exits 1; no redirect is followed',
  async (status) => {
    answers = [200, status]
    const ran = await sume(['trigger', 'job.completed', '--times', '2', '--to', to], env)
    expect(ran.code).toBe(1)
    expect(ran.stdout).toContain(`\n${status}  `)
    expect(received).toHaveLength(2)
  },
)

test('a receiver that is away exits 1 with the reason', async () => {
  const away = `http://127.0.0.1:${await closedPort()}/`
  const ran = await sume(['trigger', 'job.completed', '--to', away], env)
  expect(ran.code).toBe(1)
  expect(ran.stdout).toContain('not delivered: cannot be reached (ECONNREFUSED)')
})

test('a receiver that does not answer is given 10 s', async () => {
  server.removeAllListeners('request')
  const start = performance.now()
  const ran = await sume(['trigger', 'job.completed', '--to', to], env)
  expect(ran.code).toBe(1)
  expect(ran.stdout).toContain('no answer within 10 s')
  expect(performance.now() - start).toBeGreaterThan(9900)
})

test.each([
  [['job.complted'], 'did you mean job.completed?'],
  [[], 'expected an event'],
  [['run.failed', '--job-id', 'x'], 'did you mean --run-id?'],
  [['job.failed', '--run-id', 'x'], 'did you mean --job-id?'],
  [['job.failed', '--body', '-', '--job-id', 'x'], 'write them into the body'],
  [['job.failed', '--times', '0'], 'whole number from 1'],
  [['job.failed', '--status', 'BAD'], 'OK, ERROR'],
  [['job.failed', '--to', 'ftp://host/'], 'http://'],
  [['job.failed', '--to', 'http://u:hush-hush@host/'], 'without user and password'],
  [['job.failed', '--body', '/not/there'], 'cannot be read (ENOENT)'],
])('%j exits 1 and says what was expected; nothing is sent', async (args, expected) => {
  const ran = await sume(['trigger', '--to', to, ...args], env)
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain(expected)
  expect(ran.stderr).not.toMatch(/\n\s+at /)
  expect(received).toHaveLength(0)
})

test('without a secret it exits 2', async () => {
  const ran = await sume(['trigger', 'job.completed', '--to', to])
  expect(ran.code).toBe(2)
  expect(ran.stderr).toContain('SUME_WEBHOOK_SECRETS')
  expect(received).toHaveLength(0)
})

test('the secret is printed nowhere', async () => {
  for (const more of [[], ['--json']]) {
    const ran = await sume(['trigger', 'job.completed', '--to', to, ...more], env)
    expect(ran.stdout + ran.stderr).not.toContain(SECRET)
  }
})
