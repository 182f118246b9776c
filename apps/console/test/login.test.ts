import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  ask,
  cookieOf,
  elsewhere,
  login,
  OPERATOR,
  openRoom,
  OURS,
  type Room,
  tryLogin,
  VIEWER,
} from './room.ts'

let room: Room
beforeAll(async () => {
  room = await openRoom({ env: { CONSOLE_SESSION_KEY: 'k'.repeat(32) } })
})
afterAll(() => room[Symbol.asyncDispose]())

test('the password opens a session whose cookie no script and no other site can use', async () => {
  const answer = await tryLogin(room.url, OPERATOR, { headers: elsewhere() })
  expect(answer.status).toBe(303)
  expect(answer.headers['location']).toBe('/')
  const [cookie] = answer.headers['set-cookie'] ?? []
  const attributes = cookie?.split('; ').slice(1)
  expect(attributes).toEqual(['Max-Age=43200', 'Path=/', 'HttpOnly', 'SameSite=Strict'])
  const home = await ask(room.url, '/', { cookie: cookieOf(answer) })
  expect(home.status).toBe(200)
  expect(home.text).toContain('operator')
  expect(home.text).toContain('href="/queues"')
})

test('behind a proxy that ends TLS the cookie is for HTTPS only', async () => {
  const headers = { ...elsewhere(), 'x-forwarded-proto': 'https' }
  const answer = await tryLogin(room.url, OPERATOR, { headers })
  expect(answer.headers['set-cookie']?.[0]).toContain('; Secure')
})

test('each password opens its own role', async () => {
  const cookie = await login(room.url, VIEWER)
  expect((await ask(room.url, '/', { cookie })).text).toContain('viewer')
})

test('a wrong password opens nothing, and neither it nor the right one is logged', async () => {
  for (const wrong of ['', 'x', `${OPERATOR} `, OPERATOR.toUpperCase(), 'wrong-wrong-wrong']) {
    const answer = await tryLogin(room.url, wrong, { headers: elsewhere() })
    expect(answer.status).toBe(401)
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(answer.text).toContain('That is not the password.')
  }
  expect(room.console.output()).toContain('wrong password')
  expect(room.console.output()).not.toContain('wrong-wrong-wrong')
  expect(room.console.output()).not.toContain(OPERATOR)
})

test('a form without a password, or with two, is a wrong one', async () => {
  for (const body of ['', 'password=', `password=${OPERATOR}&password=${OPERATOR}`]) {
    const answer = await ask(room.url, '/login', {
      method: 'POST',
      headers: { ...OURS, ...elsewhere() },
      form: Object.fromEntries(new URLSearchParams(body)),
    })
    expect(answer.status, body).not.toBe(500)
  }
})

test('an address that tries too often is told to wait, the right password included, and others are not', async () => {
  const from = elsewhere()
  const codes: number[] = []
  for (let i = 0; i < 11; i += 1)
    codes.push((await tryLogin(room.url, 'wrong-password', { headers: from })).status)
  expect(codes).toEqual([...Array<number>(10).fill(401), 429])
  const answer = await tryLogin(room.url, OPERATOR, { headers: from })
  expect(answer.status).toBe(429)
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  expect(answer.text).toContain('Too many tries')
  expect((await tryLogin(room.url, OPERATOR, { headers: elsewhere() })).status).toBe(303)
})

test('a cookie that was changed, or is made up, opens nothing', async () => {
  const cookie = await login(room.url, VIEWER)
  const forged = [
    cookie.replace('viewer', 'operator'),
    cookie.slice(0, -2),
    'sume_console=operator.9999999999999',
    'sume_console=operator.9999999999999.',
    'sume_console=',
  ]
  for (const one of forged)
    expect((await ask(room.url, '/', { cookie: one })).status, one).toBe(401)
})

test('logging out ends the session in the browser', async () => {
  const cookie = await login(room.url, OPERATOR)
  const answer = await ask(room.url, '/logout', { method: 'POST', headers: OURS, cookie })
  expect(answer.status).toBe(303)
  expect(answer.headers['set-cookie']?.[0]).toMatch(/^sume_console=; .*Expires=Thu, 01 Jan 1970/)
})

test('after the login one is where one wanted to go, and never on another site', async () => {
  const to = async (path: string) =>
    (await tryLogin(room.url, OPERATOR, { headers: elsewhere(), to: path })).headers['location']
  expect(await to('/queues/queue/follow-ups?status=failed')).toBe(
    '/queues/queue/follow-ups?status=failed',
  )
  for (const path of ['//evil.example', '/\\evil.example', 'https://evil.example/', '/../..//evil'])
    expect(await to(path), path).toBe('/')
})

test('what was asked for is shown escaped in the login form', async () => {
  const answer = await ask(room.url, '/?x="><script>alert(1)</script>', {
    headers: { accept: 'text/html' },
  })
  expect(answer.status).toBe(401)
  expect(answer.text).not.toContain('<script>')
})

test('copies with one session key share sessions; with another password or key they do not', async () => {
  const cookie = await login(room.url, OPERATOR)
  const same = await room.another()
  expect((await ask(same.url, '/', { cookie })).status).toBe(200)
  const changed = await room.another({ CONSOLE_PASSWORD: 'a-new-password' })
  expect((await ask(changed.url, '/', { cookie })).status).toBe(401)
  const keyless = await room.another({ CONSOLE_SESSION_KEY: '' })
  expect((await ask(keyless.url, '/', { cookie })).status).toBe(401)
  expect(keyless.output()).toContain('CONSOLE_SESSION_KEY is not set')
})
