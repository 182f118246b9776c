import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { haveChromium } from '@sume-inbox/services'
import { chromium, type Page } from 'playwright-core'

const SCREENSHOTS = join(import.meta.dirname, '../../.local/screenshots')

/** What keeps a Chromium in a container, or on a machine without a network, from looking around. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A real Chromium. */
export interface Browser extends AsyncDisposable {
  /** A person at a browser of their own: nobody else's cookies. */
  person(): Promise<Person>
}

interface Person {
  readonly page: Page
  /** Every answer that the browser was given: where from, and its status. */
  readonly answers: { readonly host: string; readonly path: string; readonly status: number }[]
  /** Errors that a page's script did not catch. */
  readonly errors: string[]
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = await haveChromium((line) => process.stderr.write(`${line}\n`))
  const browser = await chromium.launch({ executablePath, args: FLAGS })
  return {
    async person() {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
      const page = await context.newPage()
      const answers: Person['answers'] = []
      const errors: string[] = []
      page.on('response', (response) => {
        const { host, pathname } = new URL(response.url())
        answers.push({ host, path: pathname, status: response.status() })
      })
      page.on('pageerror', (error) => errors.push(error.message))
      return { page, answers, errors }
    },
    [Symbol.asyncDispose]: () => browser.close(),
  }
}

/** Keeps a picture for people to look at. */
export async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) })
}
