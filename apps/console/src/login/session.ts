import { createHmac } from 'node:crypto'
import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Passwords, Role } from './passwords.ts'

const COOKIE = 'sume_console'
/** A working day, and some of the night. */
const SESSION_MS = 12 * 3600 * 1000

/**
 * The key that signs session cookies. The passwords are in it: a changed password ends the sessions that
 * the old one opened.
 */
export const signingKey = (sessionKey: string, { operator, viewer }: Passwords): string =>
  createHmac('sha256', sessionKey)
    .update(JSON.stringify([operator, viewer ?? null]))
    .digest('hex')

/** Sessions are signed cookies: they say the role and when they end, and the server keeps nothing. */
export interface Sessions {
  open(request: FastifyRequest, reply: FastifyReply, role: Role): void
  close(request: FastifyRequest, reply: FastifyReply): void
  /** @returns the role of the request's session, or `null` without a valid one. */
  role(request: FastifyRequest): Role | null
}

export function makeSessions(basePath: string, now: () => number): Sessions {
  const options = (request: FastifyRequest): CookieSerializeOptions => ({
    path: basePath,
    httpOnly: true,
    sameSite: 'strict',
    // Behind a proxy that ends TLS, by its X-Forwarded-Proto.
    secure: request.protocol === 'https',
    signed: true,
  })
  return {
    open(request, reply, role) {
      const until = now() + SESSION_MS
      void reply.setCookie(COOKIE, `${role}.${until}`, {
        ...options(request),
        maxAge: SESSION_MS / 1000,
      })
    },
    close(request, reply) {
      void reply.clearCookie(COOKIE, options(request))
    },
    role(request) {
      const cookie = request.cookies[COOKIE]
      if (cookie === undefined) return null
      const { valid, value } = request.unsignCookie(cookie)
      if (!valid) return null
      const [role, until] = value.split('.')
      if (!(Number(until) > now())) return null
      return role === 'operator' || role === 'viewer' ? role : null
    },
  }
}
