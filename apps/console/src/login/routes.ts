import rateLimit from '@fastify/rate-limit'
import type { Logger } from '@sume-inbox/shared/telemetry'
import type { FastifyInstance } from 'fastify'
import { loginPage } from '../pages/login-page.ts'
import { send } from './gate.ts'
import { type Passwords, roleOf } from './passwords.ts'
import type { Sessions } from './session.ts'

export interface LoginDeps {
  readonly basePath: string
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly log: Logger
}

/** Tries a minute from one address (of IPv6: one network), right ones included. */
const TRIES = 10

/** The login's form and its two changes, log in and log out. */
export async function loginRoutes(app: FastifyInstance, deps: LoginDeps): Promise<void> {
  const { basePath, passwords, sessions, log } = deps
  await app.register(rateLimit, { global: false })

  app.setErrorHandler<Error & { statusCode?: number }>((error, request, reply) => {
    if (error.statusCode !== 429) throw error
    log.warn({ address: request.ip }, 'login refused: too many tries')
    return send(
      reply,
      429,
      loginPage(basePath, basePath, 'Too many tries from your address. Wait a minute.'),
    )
  })

  app.get(`${basePath}login`, (_request, reply) => send(reply, 200, loginPage(basePath, basePath)))

  app.post<{ Body: Record<string, unknown> | undefined }>(
    `${basePath}login`,
    { config: { rateLimit: { max: TRIES, timeWindow: '1 minute' } } },
    (request, reply) => {
      const { password, to } = request.body ?? {}
      const target = ownPath(to, basePath)
      const role = typeof password === 'string' ? roleOf(password, passwords) : null
      const address = request.ip
      if (role === null) {
        log.warn({ address }, 'login refused: wrong password')
        return send(reply, 401, loginPage(basePath, target, 'That is not the password.'))
      }
      log.info({ address, role }, 'logged in')
      sessions.open(request, reply, role)
      return reply.redirect(target, 303)
    },
  )

  app.post(`${basePath}logout`, (request, reply) => {
    sessions.close(request, reply)
    return reply.redirect(`${basePath}login`, 303)
  })
}

/** Where to go after the login: a path of ours, whatever the form was made to say. */
function ownPath(to: unknown, basePath: string): string {
  const here = 'http://console'
  const url = typeof to === 'string' ? URL.parse(to, here) : null
  if (url === null || url.origin !== here || !url.pathname.startsWith(basePath)) return basePath
  // As it was parsed, not as it was sent; and `//host` is another site.
  return url.pathname.startsWith('//') ? basePath : url.pathname + url.search
}
