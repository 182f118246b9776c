import type { FastifyInstance } from 'fastify'
import { errorText } from '../runtime/index.ts'

/** What a process can say about itself. `degraded` names what is down without making it unready. */
export interface Readiness {
  readonly ready: boolean
  readonly because?: string
  readonly degraded?: readonly string[]
}

/** How long an answer is kept: a flood of probes must not become a flood of queries. */
const CACHE_MS = 1000

/**
 * `GET /health/live` (the process answers) and `GET /health/ready` (200 or 503). The answers are words
 * of our own: no driver text, which may carry addresses.
 */
export function probes(
  app: FastifyInstance,
  check: () => Promise<Readiness>,
  now: () => number,
): void {
  let cached: { until: number; answer: Promise<Readiness> } | undefined

  const readiness = (): Promise<Readiness> => {
    if (cached === undefined || cached.until <= now()) {
      cached = {
        until: now() + CACHE_MS,
        answer: check().catch((error: unknown) => {
          app.log.warn({ error: errorText(error) }, 'readiness check failed')
          return { ready: false, because: 'the check failed' }
        }),
      }
    }
    return cached.answer
  }

  app.get('/health/live', () => ({ status: 'live' }))
  app.get('/health/ready', async (_request, reply) => {
    const { ready, ...rest } = await readiness()
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', ...rest })
  })
}
