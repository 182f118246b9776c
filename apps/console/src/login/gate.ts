import type { FastifyReply, FastifyRequest } from 'fastify'
import { loginPage } from '../pages/login-page.ts'
import type { Html } from '../pages/html.ts'
import { isLoopback } from './loopback.ts'
import type { Role } from './passwords.ts'
import type { Sessions } from './session.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks, once the gate has let the request in. */
    role: Role
  }
}

type Gate = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** Lets only sessions in. Anybody else gets a login page, or what a program understands. */
export const sessionGate =
  (sessions: Sessions, basePath: string): Gate =>
  async (request, reply) => {
    const role = sessions.role(request)
    if (role !== null) {
      request.role = role
      return
    }
    if (request.method === 'GET' && (request.headers.accept ?? '').includes('text/html'))
      return send(reply, 401, loginPage(basePath, request.url))
    return reply.code(401).send({ error: 'log in first: reload the page' })
  }

/**
 * Lets everybody on this machine in as operator. Only under a name of this machine: a page of another
 * site, whose own name was pointed at this machine, would otherwise count as ours.
 */
export const openGate = (): Gate => async (request, reply) => {
  request.role = 'operator'
  if (isLoopback(request.hostname)) return
  return reply
    .code(403)
    .send({ error: 'without a password this console answers to localhost only' })
}

/** Answers with a page that no cache keeps. */
export const send = (reply: FastifyReply, code: number, page: Html) =>
  reply
    .code(code)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(page.toString())
