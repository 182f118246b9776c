import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, login, openRoom, type Room, VIEWER } from './room.ts'

let room: Room
beforeAll(async () => {
  room = await openRoom()
})
afterAll(() => room[Symbol.asyncDispose]())

/** Every file of Bull Board's page. */
function statics(): string[] {
  const ui = dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json'))
  const files = readdirSync(join(ui, 'dist/static'), { recursive: true, withFileTypes: true })
  return files
    .filter((file) => file.isFile())
    .map((file) => `/queues${join(file.parentPath, file.name).slice(join(ui, 'dist').length)}`)
}

const PAGES = [
  '/',
  '/queues',
  '/queues/',
  '/queues/queue/follow-ups',
  '/queues/queue/follow-ups/evt-1',
]
const CALLS = [
  '/queues/api/queues',
  '/queues/api/queues?activeQueue=follow-ups',
  '/queues/api/redis/stats',
  '/queues/api/queues/follow-ups/evt-1',
  '/queues/api/queues/follow-ups/evt-1/logs',
  '/queues/api/queues/follow-ups/workers',
]

test('without a login no page, no call and no static file is given', async () => {
  const files = statics()
  expect(files.length).toBeGreaterThan(10)
  for (const path of [...PAGES, ...CALLS, ...files]) {
    const answer = await ask(room.url, path)
    expect(answer.status, path).toBe(401)
    expect(answer.text, path).toBe('{"error":"log in first: reload the page"}')
  }
})

test('with a login all of them are', async () => {
  const cookie = await login(room.url, VIEWER)
  for (const path of [...PAGES, ...CALLS.slice(0, 3), ...statics()])
    expect((await ask(room.url, path, { cookie })).status, path).toBe(200)
})

test('a browser without a login gets the form in place of the page it asked for', async () => {
  const answer = await ask(room.url, '/queues/queue/follow-ups', {
    headers: { accept: 'text/html,*/*' },
  })
  expect(answer.status).toBe(401)
  expect(answer.text).toContain('name="to" value="/queues/queue/follow-ups"')
  expect(answer.text).not.toContain('static/js')
})

test('a path with dots or escapes in it does not lead around the gate', async () => {
  for (const path of [
    '/queues/static/../api/queues',
    '/queues/%61pi/queues',
    '//queues/api/queues',
    '/login/../queues/api/queues',
  ])
    expect((await ask(room.url, path)).status, path).toBeGreaterThanOrEqual(401)
})

test('the health probes need no login', async () => {
  expect((await ask(room.url, '/health/live')).status).toBe(200)
  const ready = await ask(room.url, '/health/ready')
  expect(ready.status).toBe(200)
  expect(JSON.parse(ready.text)).toEqual({ status: 'ready' })
})

test('pages run no script of anybody, and Bull Board’s only its own', async () => {
  const cookie = await login(room.url, VIEWER)
  const policy = async (path: string) =>
    (await ask(room.url, path, { cookie })).headers['content-security-policy'] as string
  expect(await policy('/')).toMatch(
    /^default-src 'none';style-src 'sha256-[^']+';form-action 'self'/,
  )
  expect(await policy('/queues')).toContain("script-src 'self';style-src 'self' 'unsafe-inline'")
  expect(await policy('/health/live')).not.toContain('unsafe-inline')
})

test('a console without a password is open to this machine, by its own names only', async () => {
  const open = await room.another({ CONSOLE_PASSWORD: '', CONSOLE_VIEWER_PASSWORD: '' })
  expect(open.output()).toContain('everybody on this machine is an operator')
  expect((await ask(open.url, '/queues/api/queues')).status).toBe(200)
  for (const host of ['evil.example', 'evil.example:8081', '127.0.0.1.evil.example', '192.0.2.1'])
    expect((await ask(open.url, '/queues/api/queues', { headers: { host } })).status, host).toBe(
      403,
    )
  expect((await ask(open.url, '/login')).status).toBe(404)
})
