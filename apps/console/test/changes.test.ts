import { appRoutes } from '@bull-board/api/dist/routes.js'
import { jobId } from '@sume-inbox/shared/queues'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, login, OPERATOR, openRoom, OURS, type Room, VIEWER } from './room.ts'

let room: Room
let key: string
beforeAll(async () => {
  room = await openRoom()
  await room.startWorker()
  ;[key = ''] = await room.deadEvents(1)
})
afterAll(() => room[Symbol.asyncDispose]())

/** Every route of this Bull Board that is not for looking only. */
const changes = appRoutes.api
  .flatMap(({ method, route }) => {
    const methods = Array.isArray(method) ? method : [method]
    const routes = Array.isArray(route) ? route : [route]
    return methods.flatMap((method) =>
      routes.map((route) => ({ method: method.toUpperCase(), route })),
    )
  })
  .filter(({ method }) => method !== 'GET')

const pathOf = (route: string) =>
  `/queues${route
    .replace(':queueName', 'follow-ups')
    .replace(':jobId', jobId(key))
    .replace(':queueStatus', 'failed')
    .replace(':schedulerId', 'any')}`

/** What each change would need in its body to be carried out. */
const BODY = {
  name: 'OK',
  data: { dedupeKey: 'made-up' },
  options: {},
  jobData: { dedupeKey: 'made-up' },
  force: true,
  concurrency: 1,
  max: 1,
  duration: 1000,
  delay: 1,
  priority: 1,
  every: 1000,
}

async function state() {
  const job = await room.queue.getJob(jobId(key))
  return {
    counts: await room.queue.getJobCounts(),
    paused: await room.queue.isPaused(),
    concurrency: await room.queue.getGlobalConcurrency(),
    rateLimit: await room.queue.getGlobalRateLimit(),
    job: job?.asJSON(),
    row: await room.row(key),
    replays: await room.replays(key),
  }
}

/** Sends every change in turn. @returns what did not answer with `status`, or moved anything. */
async function refused(
  status: number,
  options: { cookie?: string; headers: Record<string, string> },
): Promise<string[]> {
  const before = await state()
  const wrong: string[] = []
  for (const { method, route } of changes) {
    const path = pathOf(route)
    for (const json of [BODY, undefined]) {
      const answer = await ask(room.url, path, { method, json, ...options })
      if (answer.status !== status) wrong.push(`${method} ${path}: ${answer.status} ${answer.text}`)
    }
  }
  expect(await state()).toEqual(before)
  return wrong
}

test('the list of changes is whole', () => {
  expect(changes.length).toBeGreaterThanOrEqual(20)
  const known = changes.map(({ route }) => route)
  for (const end of ['/retry', '/retry/:queueStatus', '/clean', '/pause', '/empty', '/obliterate'])
    expect(
      known.some((route) => route.endsWith(end)),
      end,
    ).toBe(true)
})

test('a viewer is refused every change of Bull Board, with 405, and nothing moves', async () => {
  const cookie = await login(room.url, VIEWER)
  expect(await refused(405, { cookie, headers: OURS })).toEqual([])
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await ask(room.url, pathOf('/api/queues/:queueName/:jobId/retry'), {
      method,
      cookie,
      headers: { ...OURS, 'x-http-method-override': 'PUT' },
    })
    expect([404, 405], method).toContain(answer.status)
  }
})

test('without a login every change is refused with 401', async () => {
  expect(await refused(401, { headers: OURS })).toEqual([])
})

describe('a change that another site asks for is refused although the cookie came along', () => {
  const host = () => new URL(room.url).host
  test.each([
    ['by Sec-Fetch-Site', () => ({ 'sec-fetch-site': 'cross-site' })],
    ['from a neighbour domain', () => ({ 'sec-fetch-site': 'same-site', origin: room.url })],
    ['by Origin', () => ({ origin: 'https://evil.example' })],
    ['by an Origin with another port', () => ({ origin: 'http://127.0.0.1:1' })],
    ['from a sandboxed frame', () => ({ origin: 'null' })],
    ['with a name that only begins like ours', () => ({ origin: `http://${host()}.evil.example` })],
    ['with neither header', () => ({})],
  ] as [string, () => Record<string, string>][])('%s', async (_how, headers) => {
    const cookie = await login(room.url, OPERATOR)
    expect(await refused(403, { cookie, headers: headers() })).toEqual([])
    for (const path of ['/login', '/logout']) {
      const answer = await ask(room.url, path, {
        method: 'POST',
        headers: headers(),
        form: { password: OPERATOR },
      })
      expect(answer.status, path).toBe(403)
      expect(answer.headers['set-cookie'], path).toBeUndefined()
    }
  })
})

test('a change by our own page is taken, by either header', async () => {
  const cookie = await login(room.url, OPERATOR)
  const put = (path: string, headers: Record<string, string>) =>
    ask(room.url, path, { method: 'PUT', cookie, headers })
  expect((await put('/queues/api/queues/follow-ups/pause', OURS)).status).toBe(200)
  expect(await room.queue.isPaused()).toBe(true)
  expect((await put('/queues/api/queues/follow-ups/resume', { origin: room.url })).status).toBe(200)
  expect(await room.queue.isPaused()).toBe(false)
})

test('nobody puts data of their choice into a job', async () => {
  const cookie = await login(room.url, OPERATOR)
  const before = await state()
  for (const [method, route] of [
    ['POST', '/api/queues/:queueName/add'],
    ['PATCH', '/api/queues/:queueName/:jobId/update-data'],
  ] as const) {
    const answer = await ask(room.url, pathOf(route), { method, cookie, headers: OURS, json: BODY })
    expect(answer.status, route).toBe(403)
  }
  expect(await state()).toEqual(before)
})

test('a viewer’s page is told to offer no change, an operator’s is not', async () => {
  const told = async (password: string) => {
    const cookie = await login(room.url, password)
    const answer = await ask(room.url, '/queues/api/queues?activeQueue=follow-ups', { cookie })
    const { queues } = JSON.parse(answer.text) as { queues: Record<string, unknown>[] }
    return queues[0]
  }
  expect(await told(VIEWER)).toMatchObject({ readOnlyMode: true, allowRetries: false })
  expect(await told(OPERATOR)).toMatchObject({
    readOnlyMode: false,
    allowRetries: true,
    allowCompletedRetries: false,
  })
})
