import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { sendError } from './errors.ts'

/** What `POST /_sandbox/faults` takes. */
export const faultSchema = z.strictObject({
  method: z.string().optional(),
  /** The path begins with this. */
  path: z.string().optional(),
  times: z.number().int().min(1).max(1_000_000),
  /**
   * `status`: an error answer. `hang`: no answer for `ms`, then the connection ends. `late`: the work is
   * done and the answer comes after `ms`. `cut`: the work is done and the connection closed without an
   * answer. `non_json`: an error page with `status`.
   */
  do: z.enum(['status', 'hang', 'cut', 'late', 'non_json']),
  status: z.number().int().min(200).max(599).optional(),
  code: z.string().optional(),
  retry_after: z.number().int().min(0).optional(),
  ms: z.number().int().min(0).max(600_000).optional(),
})

export type Fault = z.infer<typeof faultSchema>

/** The faults that were asked for, each for so many calls. */
export interface Faults {
  add(fault: Fault): void
  /** The first fault that fits this call, used up by one. */
  take(method: string, path: string): Fault | undefined
  clear(): void
}

export function makeFaults(): Faults {
  let left: { fault: Fault; times: number }[] = []
  return {
    add: (fault) => void left.push({ fault, times: fault.times }),
    take(method, path) {
      const found = left.find(
        ({ fault }) =>
          (fault.method === undefined || fault.method.toUpperCase() === method) &&
          (fault.path === undefined || path.startsWith(fault.path)),
      )
      if (found === undefined) return undefined
      found.times--
      if (found.times <= 0) left = left.filter((entry) => entry !== found)
      return found.fault
    },
    clear: () => void (left = []),
  }
}

const HANG_MS = 120_000

/** Carries out the faults that come before the work. @returns whether the call is answered by them. */
export async function failBefore(
  fault: Fault,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  switch (fault.do) {
    case 'status':
      sendError(reply, {
        status: fault.status ?? 500,
        code: fault.code ?? 'sandbox_fault',
        message: 'a fault that was asked for',
        ...(fault.retry_after === undefined ? {} : { retryAfter: fault.retry_after }),
      })
      return true
    case 'non_json':
      void reply
        .code(fault.status ?? 502)
        .type('text/html')
        .send('<html><body><h1>Bad Gateway</h1></body></html>')
      return true
    case 'hang':
      reply.hijack()
      await wait(request, fault.ms ?? HANG_MS)
      request.raw.socket.destroy()
      return true
    case 'cut':
    case 'late':
      return false
  }
}

/** Carries out the faults that come after the work, before its answer is sent. */
export async function failAfter(fault: Fault, request: FastifyRequest): Promise<void> {
  if (fault.do === 'cut') request.raw.socket.destroy()
  if (fault.do === 'late') await wait(request, fault.ms ?? 1000)
}

/** Waits so long, or until the caller leaves. */
const wait = (request: FastifyRequest, ms: number) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms)
    request.raw.socket.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
