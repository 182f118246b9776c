import type { FastifyInstance } from 'fastify'
import { sendError } from '../errors.ts'

const MODELS = [
  { id: 'sandbox/image', kind: 'image' },
  { id: 'sandbox/video', kind: 'video' },
  { id: 'sandbox/lipsync', kind: 'lipsync' },
  { id: 'sandbox/captions', kind: 'captions' },
] as const

/** The catalog; no key is needed for it. A model's id has a slash in it, percent-encoded or not. */
export async function catalog(app: FastifyInstance): Promise<void> {
  app.get('/v1/open/catalog', async () => ({ data: MODELS }))
  app.get<{ Params: { '*': string } }>('/v1/open/catalog/*', async (request, reply) => {
    const model = MODELS.find(({ id }) => id === request.params['*'])
    if (model !== undefined) return { data: model }
    return sendError(reply, {
      status: 404,
      code: 'not_found',
      message: 'there is no such model',
      retryable: false,
    })
  })
}
