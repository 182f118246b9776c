import { createBullBoard } from '@bull-board/api'
import { FastifyAdapter } from '@bull-board/fastify'
import type { BoardQueue } from '@sume-inbox/shared/queues'
import { errorText } from '@sume-inbox/shared/runtime'
import type { FastifyInstance } from 'fastify'
import { isLook } from '../login/same-origin.ts'
import { RevivingAdapter, type RevivingDeps } from './reviving-adapter.ts'

export interface BoardDeps extends RevivingDeps {
  readonly basePath: string
  readonly board: BoardQueue
}

/** What Bull Board's page needs beyond our own pages': styles of its own making, scripts and calls to us. */
const POLICY = {
  directives: {
    'default-src': ["'none'"],
    'script-src': ["'self'"],
    'style-src': ["'self'", "'unsafe-inline'"],
    'img-src': ["'self'", 'data:'],
    'font-src': ["'self'"],
    'connect-src': ["'self'"],
    'base-uri': ["'self'"],
    'form-action': ["'none'"],
    'frame-ancestors': ["'none'"],
  },
}

/** The routes by which somebody could put data of their choice into a job. */
const FOREIGN_DATA = ['/add', '/update-data']

/** Bull Board, for those whom the gate around it has let in. */
export async function boardRoutes(app: FastifyInstance, deps: BoardDeps): Promise<void> {
  const path = `${deps.basePath}queues`
  app.addHook('onRequest', async (_request, reply) => {
    reply.helmet({ contentSecurityPolicy: { useDefaults: false, ...POLICY } })
  })
  app.addHook('onRequest', async (request, reply) => {
    if (isLook(request.method)) return
    if (request.role === 'viewer') {
      // In Bull Board's own words, which its page knows how to show.
      const error = { key: 'ERRORS.QUEUE_READ_ONLY' }
      return reply.code(405).header('allow', 'GET, HEAD').send({ error })
    }
    const url = request.routeOptions.url ?? ''
    if (FOREIGN_DATA.some((end) => url.endsWith(end))) {
      const message =
        'A job carries the key of its event and nothing else; events come in by the receiver.'
      return reply.code(403).send({ error: message })
    }
  })
  // The page offers a viewer nothing that would be refused.
  app.addHook('preSerialization', async (request, _reply, payload) =>
    request.role === 'viewer' ? withoutActions(payload) : payload,
  )

  const server = new FastifyAdapter()
  createBullBoard({
    queues: [new RevivingAdapter(deps.board.queue, deps)],
    serverAdapter: server,
    options: {
      uiConfig: {
        boardTitle: 'sume-inbox',
        hideDocsLink: true,
        miscLinks: [{ text: 'Start page', url: deps.basePath }],
      },
    },
  })
  // Bull Board's own shows what a driver said, which may carry addresses.
  server.setErrorHandler((error) => {
    deps.log.warn({ error: errorText(error) }, 'the board could not do what it was asked')
    const message = 'Redis or MySQL did not answer. The log of the console says more.'
    return { status: 500, body: { error: message } }
  })
  server.setBasePath(path)
  await app.register(server.registerPlugin(), { prefix: path })
}

function withoutActions(payload: unknown): unknown {
  const { queues } = payload as { queues?: unknown }
  if (!Array.isArray(queues)) return payload
  const readOnly = { readOnlyMode: true, allowRetries: false, allowCompletedRetries: false }
  return { queues: queues.map((queue: object) => ({ ...queue, ...readOnly })) }
}
