import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { jobBody, waitFor } from '@sume-inbox/testing'
import { expect, test } from 'vitest'
import { ask, type Door, openDoor, signed } from './door.ts'

const GRACE_MS = 3000
const env = { STOP_GRACE_MS: String(GRACE_MS) }

/** Sends SIGTERM and waits. @returns the exit code and how long it took. */
async function stop(door: Door) {
  const start = performance.now()
  const code = await door.process.stop()
  return { code, ms: performance.now() - start }
}

const inGrace = { code: 0, ms: expect.toSatisfy((ms: number) => ms < GRACE_MS) }

const stopping = (door: Door) =>
  waitFor('the receiver to be stopping', () =>
    door.process.lines.some((line) => line['msg'] === 'stopping'),
  )

/** A connection that sent this and goes on sending nothing. */
async function holding(url: string, text: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

const unfinished = [
  'POST /webhooks/sume HTTP/1.1',
  'host: x',
  'content-length: 1000',
  '',
  '{"event":"job.',
].join('\r\n')

test('a request in flight on a kept connection is answered, told to close, and the process exits 0', async () => {
  await using door = await openDoor({ env })
  const { jobId, body } = jobBody()
  const agent = new Agent({ keepAlive: true })
  const inserted = Promise.withResolvers<void>()
  const commit = Promise.withResolvers<void>()
  // Another transaction holds the row: the delivery's insert waits for it.
  const held = door.database.ledger.inTransaction(async (tx) => {
    await tx.query(
      `INSERT INTO sume_events (dedupe_key, kind, sume_id, event, status, payload) VALUES ('${jobId}', 'job', '${jobId}', 'job.completed', 'OK', '{}')`,
    )
    inserted.resolve()
    await commit.promise
  })
  await inserted.promise
  const answered = new Promise<{ status: number; connection: string }>((resolve, reject) => {
    const headers = { ...signed(body), 'content-length': String(body.length) }
    request(`${door.url}/webhooks/sume`, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      const { statusCode = 0, headers } = response
      response.on('end', () =>
        resolve({ status: statusCode, connection: headers.connection ?? '' }),
      )
    })
      .on('error', reject)
      .end(body)
  })
  await waitFor('the insert to wait', async () => {
    const [waiting] = await door.database.ledger.query(
      "SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'INSERT INTO sume_events%'",
    )
    return (waiting as unknown[]).length > 0
  })
  const stopped = stop(door)
  await stopping(door)
  commit.resolve()
  await held
  expect(await answered).toEqual({ status: 200, connection: 'close' })
  expect(await stopped).toEqual(inGrace)
  expect(await door.rows(jobId)).toMatchObject([{ deliveries: 2 }])
  agent.destroy()
})

test('a body that never ends, an idle connection and Redis down do not keep it from exiting 0 in its grace', async () => {
  await using door = await openDoor({ env, redisUrl: 'redis://127.0.0.1:1' })
  const { body } = jobBody()
  expect((await ask(door.url, { body, headers: signed(body) })).status).toBe(200)
  const sockets = await Promise.all([
    holding(door.url, unfinished),
    holding(door.url, ''),
    holding(door.url, 'GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n'),
    holding(door.process.internalUrl, 'GET /health/live HTTP/1.1\r\nhost: x\r\n'),
  ])
  await once(sockets[2] ?? door.process.child, 'data')
  expect(await stop(door)).toEqual(inGrace)
  for (const socket of sockets) socket.destroy()
})

test('a MySQL that takes a connection and never answers does not keep it from exiting 0 in its grace', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  await using door = await openDoor({ env })
  const receiver = await door.another({ DATABASE_URL: `mysql://root@127.0.0.1:${port}/x` })
  const { body } = jobBody()
  const arrived = once(silent, 'connection') as Promise<[Socket]>
  const answer = ask(receiver.url, { body, headers: signed(body) }).catch(() => 'cut')
  const [socket] = await arrived
  const start = performance.now()
  expect(await receiver.stop()).toBe(0)
  expect(performance.now() - start).toBeLessThan(GRACE_MS)
  await answer
  socket.destroy()
  silent.close()
})

test('a stopping receiver says that it is not ready on connections that it still has', async () => {
  await using door = await openDoor({ env })
  const body = await holding(door.url, unfinished)
  const probe = await holding(door.process.internalUrl, 'GET /health/ready HTTP/1.1\r\nhost: x\r\n')
  const stopped = stop(door)
  await stopping(door)
  probe.write('\r\n')
  const [answer] = (await once(probe, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1.1 503[^]*connection: close[^]*stopping/i)
  expect(await stopped).toEqual(inGrace)
  body.destroy()
  probe.destroy()
})

test('a body that does not arrive within 10 s is 408 and its connection is closed', async () => {
  await using door = await openDoor()
  const start = performance.now()
  const socket = await holding(door.url, unfinished)
  const received: Buffer[] = []
  socket.on('data', (bytes: Buffer) => received.push(bytes))
  await once(socket, 'close')
  expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1.1 408/)
  expect(performance.now() - start).toBeGreaterThan(9000)
  expect(performance.now() - start).toBeLessThan(13_000)
})
