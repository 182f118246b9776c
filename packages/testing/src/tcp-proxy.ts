import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy on loopback that can fail as networks do. */
export interface TcpProxy {
  readonly port: number
  /** The target's URL with this proxy in its place. */
  readonly url: string
  /** From now on nothing that a client sends is forwarded, and what it sent is thrown away. */
  swallowRequests(): void
  /** From now on no answer reaches a client; what the server answers is thrown away. */
  swallowAnswers(): void
  /** Cuts every connection now; new ones are forwarded again. */
  cut(): void
  /** Forwards again. */
  mend(): void
  close(): Promise<void>
}

/** Opens a proxy on a free loopback port before the server that `targetUrl` names. */
export async function openTcpProxy(targetUrl: string): Promise<TcpProxy> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let requests = true
  let answers = true

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    client.on('data', (bytes) => {
      if (requests) upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (answers) client.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)

  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port,
    url: url.href,
    swallowRequests: () => {
      requests = false
    },
    swallowAnswers: () => {
      answers = false
    },
    cut,
    mend: () => {
      requests = true
      answers = true
    },
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
