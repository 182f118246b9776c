import type { FastifyInstance } from 'fastify'
import type { Deliverer } from './deliverer.ts'
import { type Faults, faultSchema } from './faults.ts'
import { isEnded, type Job } from './job.ts'
import type { Store } from './store.ts'

export interface ControlDeps {
  readonly store: Store
  readonly deliverer: Deliverer
  readonly faults: Faults
}

/** What the real Sume does not have: looking inside, Redeliver by a call, faults, and starting over. */
export async function control(
  app: FastifyInstance,
  { store, deliverer, faults }: ControlDeps,
): Promise<void> {
  app.get('/_sandbox/paid', async () => ({
    data: store.all().map((job) => ({ id: job.id, kind: job.kind, key: job.key, path: job.path })),
  }))
  app.get('/_sandbox/jobs', async () => ({ data: store.all().map(view) }))
  app.get<{ Params: { id: string } }>('/_sandbox/jobs/:id', async (request, reply) => {
    const job = store.get(request.params.id)
    return job === undefined ? reply.code(404).send({ error: 'no such job' }) : { data: view(job) }
  })
  app.post<{ Params: { id: string } }>('/_sandbox/jobs/:id/redeliver', async (request, reply) => {
    const job = store.get(request.params.id)
    if (job === undefined) return reply.code(404).send({ error: 'no such job' })
    if (!isEnded(job)) return reply.code(409).send({ error: 'the job has not ended yet' })
    if (job.webhookUrl === null)
      return reply.code(409).send({ error: 'the job was submitted without a webhook_url' })
    deliverer.redeliver(job)
    return reply.code(202).send({ data: view(job) })
  })
  app.post('/_sandbox/faults', async (request, reply) => {
    const read = faultSchema.safeParse(parse(request.body))
    if (!read.success) {
      const problems = read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
      return reply.code(400).send({ error: 'no such fault', problems })
    }
    faults.add(read.data)
    return reply.code(201).send({ data: read.data })
  })
  app.post('/_sandbox/reset', async () => {
    store.clear()
    faults.clear()
    return { data: { reset: true } }
  })
}

const view = (job: Job) => ({
  id: job.id,
  kind: job.kind,
  request_id: job.requestId,
  state: job.state,
  key: job.key,
  webhook_url: job.webhookUrl,
  submitted_at: job.submittedAt,
  deliveries: job.tries,
})

function parse(body: unknown): unknown {
  try {
    return JSON.parse(Buffer.isBuffer(body) ? body.toString('utf8') : '')
  } catch {
    return undefined
  }
}
