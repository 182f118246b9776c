import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A site of its own that hands everything below `path` on as it is, and knows nothing else. */
export async function openReverseProxy(
  path: string,
  target: string,
): Promise<{ url: string; [Symbol.asyncDispose](): Promise<void> }> {
  const { hostname, port } = new URL(target)
  const server = createServer((incoming, outgoing) => {
    if (incoming.url?.startsWith(path) !== true) {
      outgoing.writeHead(404).end('another application')
      return
    }
    const headers = {
      ...incoming.headers,
      'x-forwarded-for': incoming.socket.remoteAddress,
      'x-forwarded-proto': 'http',
      'x-forwarded-host': incoming.headers.host,
    }
    const { method, url } = incoming
    const onward = request({ hostname, port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
