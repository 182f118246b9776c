import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, cookieOf, login, OPERATOR, openRoom, OURS, type Room, tryLogin } from './room.ts'

const BASE = '/ops/console/'

let room: Room
beforeAll(async () => {
  room = await openRoom({ env: { CONSOLE_BASE_PATH: BASE } })
})
afterAll(() => room[Symbol.asyncDispose]())

test('everything but the probes is below the base path, and so is the cookie', async () => {
  const answer = await tryLogin(room.url, OPERATOR, { base: BASE })
  expect(answer.headers['location']).toBe(BASE)
  expect(answer.headers['set-cookie']?.[0]).toContain(`; Path=${BASE};`)
  const cookie = cookieOf(answer)
  expect((await ask(room.url, BASE, { cookie })).text).toContain(`href="${BASE}queues"`)
  for (const path of ['/', '/login', '/queues', '/queues/api/queues'])
    expect((await ask(room.url, path, { cookie })).status, path).toBe(404)
  expect((await ask(room.url, '/health/ready')).status).toBe(200)
})

test('the path without its last slash leads to it', async () => {
  const answer = await ask(room.url, BASE.slice(0, -1))
  expect(answer.status).toBe(302)
  expect(answer.headers['location']).toBe(BASE)
})

test('the board’s page, its static files and its calls are found there', async () => {
  const cookie = await login(room.url, OPERATOR, BASE)
  for (const path of ['queues', 'queues/', 'queues/queue/follow-ups']) {
    const page = await ask(room.url, `${BASE}${path}`, { cookie })
    const base = /<base href="([^"]*)"/.exec(page.text)?.[1]
    expect(base).toBe(`${BASE}queues/`)
    const files = [...page.text.matchAll(/(?:src|href)="(static\/[^"]*)"/g)].map(([, file]) => file)
    expect(files.length).toBeGreaterThan(3)
    for (const file of files)
      expect((await ask(room.url, `${base}${file}`, { cookie })).status, file).toBe(200)
  }
  expect((await ask(room.url, `${BASE}queues/api/queues`, { cookie })).status).toBe(200)
  expect((await ask(room.url, `${BASE}queues/api/queues`)).status).toBe(401)
})

test('logging out leads to the login there', async () => {
  const cookie = await login(room.url, OPERATOR, BASE)
  const answer = await ask(room.url, `${BASE}logout`, { method: 'POST', headers: OURS, cookie })
  expect(answer.headers['location']).toBe(`${BASE}login`)
  expect(answer.headers['set-cookie']?.[0]).toContain(`; Path=${BASE};`)
})

test('a login that wants to go outside the path ends at its start', async () => {
  const answer = await tryLogin(room.url, OPERATOR, { base: BASE, to: '/elsewhere' })
  expect(answer.headers['location']).toBe(BASE)
})
