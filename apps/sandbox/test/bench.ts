import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AppProcess, startApp, TEST_SECRET, waitFor } from '@sume-inbox/testing'

/** One webhook as a receiver got it. */
export interface Hook {
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

/** A receiver that keeps what it gets and answers what it is told. */
export async function openCatcher(answer: (nth: number) => number = () => 200) {
  const hooks: Hook[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      hooks.push({ url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) })
      response.writeHead(answer(hooks.length), { location: '/elsewhere' }).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    hooks,
    url: `http://127.0.0.1:${port}/hook`,
    received: (count: number) => waitFor(`${count} webhooks`, () => hooks.length >= count && hooks),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // eslint-disable-next-line typescript/no-explicit-any -- the tests say what they expect of it
  readonly body: any
}

/** The sandbox as a process, and calls to it with a key. */
export async function openSandbox(settings: Record<string, string> = {}): Promise<{
  process: AppProcess
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  [Symbol.asyncDispose](): Promise<void>
}> {
  const process = await startApp('sandbox', {
    SUME_WEBHOOK_SECRETS: `${TEST_SECRET},whsec_the_second_one_never_signs`,
    SANDBOX_RETRY_BASE_MS: '5',
    ...settings,
  })
  return {
    process,
    async call(method, path, body, headers = {}) {
      const response = await fetch(process.url + path, {
        method,
        redirect: 'manual',
        headers: { authorization: 'Bearer any', 'content-type': 'application/json', ...headers },
        ...(body === undefined
          ? {}
          : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      let parsed: unknown = text
      try {
        parsed = JSON.parse(text)
      } catch {
        // an error page
      }
      return { status: response.status, headers: response.headers, body: parsed }
    },
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  }
}
