import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { readerFor } from './request-text.ts'

/** A TCP proxy on loopback that can fail as networks do. */
export interface TcpProxy {
  readonly port: number
  /** The target's URL with this proxy in its place. */
  readonly url: string
  /** From now on nothing that a client sends is forwarded, and what it sent is thrown away. */
  swallowRequests(): void
  /** From now on no answer reaches a client; what the server answers is thrown away. */
  swallowAnswers(): void
  /** From now on everything arrives so much later, either way. */
  delay(ms: number): void
  /** Cuts each connection when so many more bytes of answers have passed on it. */
  cutAfter(bytes: number): void
  /** Cuts every connection now; new ones are forwarded again. */
  cut(): void
  /** New connections go to another server from now on, as when an address moves; those that are open stay. */
  retarget(url: string): void
  /** Forwards again, at once and all of it. */
  mend(): void
  /**
   * Once: the next request with this text in it gets through to the server; its answer does not come
   * back, and the connection is cut. Of MySQL, the text is SQL, also of a prepared statement.
   *
   * @returns when that has happened.
   */
  loseAnswer(to: string): Promise<void>
  /** Once: the next request with this text in it is kept back, and all that follows it on its connection. */
  hold(request: string): Hold
  close(): Promise<void>
}

/** A request that is kept back. */
interface Hold {
  /** Resolves when the request has come. */
  readonly reached: Promise<void>
  /** Lets it through, with what came after it. */
  release(): void
  /** The same for a later request on its connection only: of the same transaction, say. */
  readonly sameConnection: Pick<TcpProxy, 'hold' | 'loseAnswer'>
}

interface Watch {
  readonly text: string
  /** Requests of this connection only. */
  readonly on: () => Connection | 'any' | undefined
  /** What becomes of the request on this connection. */
  take(connection: Connection, bytes: Buffer): void
}

interface Connection {
  readonly client: Socket
  readonly upstream: Socket
  /** Requests that are kept back; none unless there is a list. */
  held: Buffer[] | undefined
  /** Answers are thrown away, and the first one cuts the connection. */
  lost: (() => void) | undefined
  /** How many bytes of answers may still pass. */
  left: number
}

/** Opens a proxy on a free loopback port before the server that `targetUrl` names. */
export async function openTcpProxy(targetUrl: string): Promise<TcpProxy> {
  let target = new URL(targetUrl)
  const connections = new Set<Connection>()
  const watches = new Set<Watch>()
  let requests = true
  let answers = true
  let delayMs = 0
  let limit = Number.POSITIVE_INFINITY

  const forward = (to: Socket, bytes: Buffer) => {
    if (delayMs === 0) to.write(bytes)
    else setTimeout(() => to.write(bytes), delayMs)
  }

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const connection: Connection = {
      client,
      upstream,
      held: undefined,
      lost: undefined,
      left: limit,
    }
    const reader = readerFor(target)
    connections.add(connection)
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        connections.delete(connection)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (bytes) => {
      if (!requests) return
      if (connection.held !== undefined) {
        connection.held.push(bytes)
        return
      }
      const text = reader.request(bytes)
      const watch = [...watches].find(
        ({ on, text: part }) => text.includes(part) && ['any', connection].includes(on() ?? ''),
      )
      if (watch === undefined) {
        forward(upstream, bytes)
        return
      }
      watches.delete(watch)
      watch.take(connection, bytes)
    })
    upstream.on('data', (bytes) => {
      reader.answer(bytes)
      if (connection.lost !== undefined) {
        client.destroy()
        connection.lost()
        return
      }
      if (!answers) return
      if (bytes.length > connection.left) {
        forward(client, bytes.subarray(0, connection.left))
        // After what was let through.
        setTimeout(() => client.destroy(), delayMs)
        connection.left = 0
        return
      }
      connection.left -= bytes.length
      forward(client, bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)

  const cut = () => {
    for (const { client, upstream } of connections) {
      client.destroy()
      upstream.destroy()
    }
  }
  const limitAll = (bytes: number) => {
    limit = bytes
    for (const connection of connections) connection.left = bytes
  }
  const loseAnswer = (text: string, on: Watch['on']) =>
    new Promise<void>((resolve) => {
      watches.add({
        text,
        on,
        take(connection, bytes) {
          connection.lost = resolve
          connection.upstream.write(bytes)
        },
      })
    })
  const hold = (text: string, on: Watch['on']): Hold => {
    const { promise: reached, resolve } = Promise.withResolvers<void>()
    let held: Connection | undefined
    const watch: Watch = {
      text,
      on,
      take(connection, bytes) {
        held = connection
        connection.held = [bytes]
        resolve()
      },
    }
    watches.add(watch)
    const onHeld = () => held
    return {
      reached,
      release: () => {
        watches.delete(watch)
        if (held === undefined) return
        for (const kept of held.held ?? []) forward(held.upstream, kept)
        held.held = undefined
      },
      sameConnection: {
        hold: (next) => hold(next, onHeld),
        loseAnswer: (next) => loseAnswer(next, onHeld),
      },
    }
  }
  const anywhere = () => 'any' as const
  return {
    port,
    url: url.href,
    swallowRequests: () => {
      requests = false
    },
    swallowAnswers: () => {
      answers = false
    },
    delay: (ms) => {
      delayMs = ms
    },
    cutAfter: limitAll,
    cut,
    retarget: (to) => {
      target = new URL(to)
    },
    mend: () => {
      requests = true
      answers = true
      delayMs = 0
      limitAll(Number.POSITIVE_INFINITY)
    },
    loseAnswer: (text) => loseAnswer(text, anywhere),
    hold: (text) => hold(text, anywhere),
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
