import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listReplays } from '@sume-inbox/shared/ledger'
import { jobId } from '@sume-inbox/shared/queues'
import { type AppProcess, deliver, jobBody } from '@sume-inbox/testing'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Browser, openBrowser, screenshot } from './browser.ts'
import { openReverseProxy } from './reverse-proxy.ts'
import { openSystem, type System } from './system.ts'

const MAX_ATTEMPTS = 3
const PASSWORDS = { operator: 'operator-password', viewer: 'viewer-password' }

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser[Symbol.asyncDispose]())

/** A system with a console and so many dead events, whose follow-ups would now succeed. */
async function openBoard(dead: number, settings: Record<string, string> = {}) {
  const system = await openSystem(
    {},
    // What happens, the queue does alone.
    { MAX_ATTEMPTS: String(MAX_ATTEMPTS), BACKOFF_MS: '20', ENQUEUE_GRACE_MS: '600000' },
  )
  const receiver = await system.start('receiver')
  const worker = await system.start('worker')
  const console = await system.start('console', {
    CONSOLE_PASSWORD: PASSWORDS.operator,
    CONSOLE_VIEWER_PASSWORD: PASSWORDS.viewer,
    ...settings,
  })
  const ids = await Promise.all(Array.from({ length: dead }, () => takeIn(receiver)))
  for (const id of ids) await system.reached(id, 'dead')
  system.mend()
  return {
    system,
    worker,
    console,
    ids,
    [Symbol.asyncDispose]: () => system[Symbol.asyncDispose](),
  }
}

async function takeIn(receiver: AppProcess): Promise<string> {
  const { jobId, body } = jobBody({ event: 'job.held', status: 'ERROR' })
  await deliver(receiver.url, body)
  return jobId
}

async function logIn(page: Page, url: string, role: keyof typeof PASSWORDS): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Password').fill(PASSWORDS[role])
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText(`${role}: may look`).waitFor()
}

/** From the start page to the queue's failed jobs. */
async function toFailed(page: Page, count: number): Promise<void> {
  await page.getByRole('link', { name: 'Queue' }).click()
  await page.getByRole('link', { name: 'follow-ups' }).first().click()
  await page.getByRole('link', { name: /^Failed/i }).click()
  await page.getByText(/^evt-/).first().waitFor()
  await page.getByRole('link', { name: new RegExp(`^Failed\\s*${count}$`, 'i') }).waitFor()
}

/** A failed job's own buttons, Retry first. */
const buttonsOf = (page: Page, id: string) =>
  page
    .getByText(jobId(id))
    .locator('xpath=ancestor::*[contains(@class, "header")][1]')
    .getByRole('button')

const confirm = (page: Page) => page.getByRole('button', { name: 'Confirm' }).click()

async function expectDoneByConsole(system: System, id: string): Promise<void> {
  expect(await system.reached(id, 'done')).toMatchObject({ attempts: MAX_ATTEMPTS })
  expect(system.runs(id).map(({ attempt }) => attempt)).toEqual([1, 2, 3, MAX_ATTEMPTS])
  expect(await listReplays(system.database.ledger, id, 10)).toMatchObject([
    { what: 'retry', replayed_by: 'operator (console)' },
  ])
}

test('an operator logs in and retries a dead event: it ends done, with its attempts right', async () => {
  await using board = await openBoard(2)
  const { page, answers, errors } = await browser.person()
  await page.goto(board.console.url)
  await screenshot(page, 'login')
  await page.getByLabel('Password').fill('not the password')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').waitFor()
  await screenshot(page, 'login-refused')
  await logIn(page, board.console.url, 'operator')
  await screenshot(page, 'start-operator')
  await toFailed(page, 2)
  await screenshot(page, 'failed-operator')
  const [id = '', other = ''] = board.ids
  await buttonsOf(page, id).first().click()
  await screenshot(page, 'retry-sure')
  await confirm(page)
  await expectDoneByConsole(board.system, id)
  await page.getByText(jobId(id)).waitFor({ state: 'detached' })
  await screenshot(page, 'failed-after-retry')
  expect(await board.system.reached(other, 'dead')).toMatchObject({ attempts: MAX_ATTEMPTS })
  // Nothing is fetched from elsewhere, and all that the page asks for is there once somebody is in.
  expect(new Set(answers.map(({ host }) => host))).toEqual(
    new Set([new URL(board.console.url).host]),
  )
  expect(answers.filter(({ status }) => status >= 400 && status !== 401)).toEqual([])
  expect(errors).toEqual([])
})

test('Retry all brings twenty dead events to done, each with its attempts right', async () => {
  await using board = await openBoard(20)
  const { page } = await browser.person()
  await logIn(page, board.console.url, 'operator')
  await toFailed(page, 20)
  await page.getByRole('button', { name: 'Retry all' }).click()
  await confirm(page)
  for (const id of board.ids) await expectDoneByConsole(board.system, id)
  await expect.poll(() => page.getByText(/^evt-/).count()).toBe(0)
  await screenshot(page, 'failed-after-retry-all')
})

test('a viewer sees the failed jobs and no button, and is refused by the API', async () => {
  await using board = await openBoard(2)
  const { page } = await browser.person()
  await logIn(page, board.console.url, 'viewer')
  await screenshot(page, 'start-viewer')
  await toFailed(page, 2)
  await screenshot(page, 'failed-viewer')
  const [id = ''] = board.ids
  expect(await buttonsOf(page, id).count()).toBe(0)
  for (const name of ['Retry all', 'Clean all'])
    expect(await page.getByRole('button', { name }).count(), name).toBe(0)
  // The page's own calls, with its own session.
  const statuses = await page.evaluate(
    (paths) =>
      Promise.all(
        paths.map(
          async (path) => (await fetch(`/queues/api/queues/${path}`, { method: 'PUT' })).status,
        ),
      ),
    [
      `follow-ups/${jobId(id)}/retry`,
      `follow-ups/${jobId(id)}/clean`,
      'follow-ups/retry/failed',
      'follow-ups/clean/failed',
      'follow-ups/pause',
      'follow-ups/empty',
      'pause',
    ],
  )
  expect(new Set(statuses)).toEqual(new Set([405]))
  await page.reload()
  await page.getByText(jobId(id)).waitFor()
  for (const id of board.ids) {
    expect(await board.system.reached(id, 'dead')).toMatchObject({ attempts: MAX_ATTEMPTS })
    expect(await listReplays(board.system.database.ledger, id, 10)).toEqual([])
  }
})

test('a change that another site asks for is refused, although the browser sends the cookie along', async () => {
  await using board = await openBoard(1)
  const { page } = await browser.person()
  await logIn(page, board.console.url, 'operator')
  const [id = ''] = board.ids
  const retry = `${board.console.url}/queues/api/queues/follow-ups/${jobId(id)}/retry`
  // Another origin on the same host: of the same site as far as SameSite cookies go.
  await using evil = await openSite(
    `<form method="post" action="${board.console.url}/logout"><button>A kitten</button></form>`,
  )
  await page.goto(evil.url)
  const how = await page.evaluate(async (url) => {
    const tried = [
      fetch(url, { method: 'PUT', credentials: 'include' }),
      fetch(url, { method: 'POST', credentials: 'include', mode: 'no-cors' }),
    ]
    return (await Promise.allSettled(tried)).map(({ status }) => status)
  }, retry)
  // The first ends with the browser's question beforehand; the second is sent, and its answer kept from the page.
  expect(how).toEqual(['rejected', 'rejected'])
  const answer = page.waitForResponse(`${board.console.url}/logout`)
  await page.getByRole('button', { name: 'A kitten' }).click()
  expect((await answer).status()).toBe(403)
  await screenshot(page, 'refused-other-site')
  const refusals = board.console.lines.filter(({ msg }) =>
    String(msg).startsWith('refused a change'),
  )
  expect(refusals).toHaveLength(3)
  expect((await (await answer).request().allHeaders())['cookie']).toContain('sume_console=')
  expect(await board.system.reached(id, 'dead')).toMatchObject({ attempts: MAX_ATTEMPTS })
  await page.goto(board.console.url)
  await page.getByText('operator: may look').waitFor()
})

test('the board works below a path behind a reverse proxy', async () => {
  const path = '/ops/console'
  await using board = await openBoard(1, { CONSOLE_BASE_PATH: path })
  await using proxy = await openReverseProxy(path, board.console.url)
  const { page, answers, errors } = await browser.person()
  await logIn(page, `${proxy.url}${path}`, 'operator')
  await toFailed(page, 1)
  const [id = ''] = board.ids
  await page.goto(`${proxy.url}${path}/queues/queue/follow-ups/${jobId(id)}`)
  await page.getByText('not mended yet').first().waitFor()
  await screenshot(page, 'job-behind-proxy')
  await buttonsOf(page, id).first().click()
  await confirm(page)
  await expectDoneByConsole(board.system, id)
  expect(new Set(answers.map(({ host }) => host))).toEqual(new Set([new URL(proxy.url).host]))
  expect(answers.filter(({ path: asked }) => !asked.startsWith(path))).toEqual([])
  expect(answers.filter(({ status }) => status >= 400 && status !== 401)).toEqual([])
  expect(errors).toEqual([])
  await page.goto(`${proxy.url}${path}/`)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Password').waitFor()
  expect((await page.goto(`${proxy.url}${path}/queues`))?.status()).toBe(401)
})

/** A site of somebody else's, with this one page. */
async function openSite(html: string) {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(html)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
