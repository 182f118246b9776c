import { randomUUID } from 'node:crypto'
import type { FastifyReply } from 'fastify'

export interface SumeError {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly retryable?: boolean
  readonly retryAfter?: number
  readonly errors?: readonly { path: string; message: string }[]
}

/** Answers in Sume's error envelope, with the call's own request id in body and header. */
export function sendError(reply: FastifyReply, error: SumeError): FastifyReply {
  const requestId = `req_${randomUUID()}`
  if (error.retryAfter !== undefined) void reply.header('retry-after', String(error.retryAfter))
  return reply
    .code(error.status)
    .header('x-sume-request-id', requestId)
    .send({
      error: {
        code: error.code,
        message: error.message,
        request_id: requestId,
        ...(error.retryable === undefined ? {} : { retryable: error.retryable }),
        ...(error.errors === undefined ? {} : { details: { errors: error.errors } }),
      },
      request_id: requestId,
    })
}
