import type { AddressInfo } from 'node:net'
import { isMigrated, type Ledger } from '@sume-inbox/shared/ledger'
import type { BoardQueue } from '@sume-inbox/shared/queues'
import { systemClock } from '@sume-inbox/shared/runtime'
import { type Logger, probes, type Readiness } from '@sume-inbox/shared/telemetry'
import { boardRoutes } from './board/board.ts'
import type { ConsoleConfig } from './config.ts'
import { openGate, send, sessionGate } from './login/gate.ts'
import { loginRoutes } from './login/routes.ts'
import { makeSessions, signingKey } from './login/session.ts'
import { homePage } from './pages/home-page.ts'
import { buildServer } from './server.ts'

export interface ConsoleDeps {
  readonly config: ConsoleConfig
  readonly ledger: Ledger
  readonly board: BoardQueue
  readonly log: Logger
  /** Signs the session cookies. */
  readonly sessionKey: string
}

/** The console: for people, with a login. */
export interface Console {
  listen(): Promise<{ port: number }>
  /** Takes no new connections, answers what is under way, and cuts what has not ended after `withinMs`. */
  close(withinMs: number): Promise<void>
}

export async function buildConsole(deps: ConsoleDeps): Promise<Console> {
  const { config, ledger, board, log } = deps
  const { CONSOLE_BASE_PATH: basePath, CONSOLE_PASSWORD: operator } = config
  const passwords =
    operator === undefined ? undefined : { operator, viewer: config.CONSOLE_VIEWER_PASSWORD }
  let stopping = false

  const readiness = async (): Promise<Readiness> => {
    if (stopping) return { ready: false, because: 'stopping' }
    const degraded = board.isUp() ? {} : { degraded: ['redis'] }
    const migrated = await isMigrated(ledger).catch(() => null)
    if (migrated === true) return { ready: true, ...degraded }
    const because =
      migrated === null ? 'the database is out of reach' : 'the database is not migrated'
    return { ready: false, because, ...degraded }
  }

  const cookieKey =
    passwords === undefined ? deps.sessionKey : signingKey(deps.sessionKey, passwords)
  const app = await buildServer(log, cookieKey)
  // An answer that leaves its connection open would keep a stopping server from closing.
  app.addHook('onSend', async (_request, reply) => {
    if (stopping) void reply.header('connection', 'close')
  })
  probes(app, readiness, systemClock)

  if (basePath !== '/')
    app.get(basePath.slice(0, -1), (_request, reply) => reply.redirect(basePath))

  const sessions = makeSessions(basePath, systemClock)
  if (passwords !== undefined)
    await app.register(loginRoutes, { basePath, passwords, sessions, log })

  await app.register(async (inside) => {
    inside.addHook(
      'onRequest',
      passwords === undefined ? openGate() : sessionGate(sessions, basePath),
    )
    inside.get(basePath, (request, reply) =>
      send(reply, 200, homePage(basePath, request.role, passwords !== undefined)),
    )
    await inside.register(boardRoutes, {
      basePath,
      board,
      ledger,
      log,
      maxAttempts: config.MAX_ATTEMPTS,
    })
  })

  return {
    async listen() {
      await app.listen({ host: config.HOST, port: config.PORT })
      return { port: (app.server.address() as AddressInfo).port }
    },
    async close(withinMs) {
      stopping = true
      const cut = setTimeout(() => app.server.closeAllConnections(), withinMs)
      await app.close()
      clearTimeout(cut)
    },
  }
}
