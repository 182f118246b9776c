import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { sendError } from '../errors.ts'
import type { Job } from '../job.ts'
import type { Lifecycle } from '../lifecycle.ts'
import { planSchema } from '../plan.ts'
import type { Store } from '../store.ts'
import { isWebhookUrl } from '../webhook-url.ts'

export interface ApiDeps {
  readonly store: Store
  readonly lifecycle: Lifecycle
}

export interface SubmitsDeps extends ApiDeps {
  /** Hosts that a webhook may go to without TLS, besides loopback. */
  readonly httpHosts: readonly string[]
}

const submitSchema = z.looseObject({
  model: z.string().min(1).optional(),
  mode: z.string().optional(),
  webhook_url: z.string().optional(),
  sandbox: planSchema.optional(),
})

/** The paid calls: both routers, the older models' runs, and runs of Formats. */
export async function submits(app: FastifyInstance, deps: SubmitsDeps): Promise<void> {
  app.post('/v1/image-router/generate', submitAs(deps, 'job', 'image'))
  app.post('/v1/video-router/generate', submitAs(deps, 'job', 'video'))
  for (const model of ['avatar', 'avatar-video']) {
    app.post(`/v1/models/sume/${model}/v1.0/runs`, submitAs(deps, 'job', model))
  }
  app.post('/v1/formats/:format/runs', submitAs(deps, 'run', 'format'))
}

const submitAs =
  ({ store, lifecycle, httpHosts }: SubmitsDeps, kind: Job['kind'], type: string) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    const text = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : ''
    const read = readSubmit(text, type, httpHosts)
    if ('errors' in read) {
      return sendError(reply, {
        status: 400,
        code: 'validation_error',
        message: 'the request is not valid',
        retryable: false,
        errors: read.errors,
      })
    }
    const key = request.headers['idempotency-key']
    const submitted = store.submit({
      kind,
      type,
      key: typeof key === 'string' && key !== '' ? key : null,
      path: request.url,
      body: text,
      webhookUrl: read.webhookUrl,
      plan: planSchema.parse(read.plan ?? {}),
    })
    if (submitted === 'conflict') {
      return sendError(reply, {
        status: 409,
        code: 'idempotency_conflict',
        message: 'this Idempotency-Key was used with another request',
        retryable: false,
      })
    }
    const { job, hit } = submitted
    if (!hit) lifecycle.begin(job)
    return kind === 'job'
      ? reply.send(jobReceipt(job, hit))
      : reply.code(hit ? 200 : 202).send(runReceipt(job, hit))
  }

type Submit =
  | { readonly webhookUrl: string | null; readonly plan: z.input<typeof planSchema> | undefined }
  | { readonly errors: { path: string; message: string }[] }

function readSubmit(text: string, type: string, httpHosts: readonly string[]): Submit {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return { errors: [{ path: '', message: 'the body is not JSON' }] }
  }
  const read = submitSchema.safeParse(body)
  if (!read.success) {
    return {
      errors: read.error.issues.map((i) => ({ path: i.path.join('.'), message: i.message })),
    }
  }
  const { model, mode, webhook_url: url, sandbox } = read.data
  if ((type === 'image' || type === 'video') && model === undefined) {
    return { errors: [{ path: 'model', message: 'is required' }] }
  }
  if (mode !== 'webhook') return { webhookUrl: null, plan: sandbox }
  if (url === undefined)
    return { errors: [{ path: 'webhook_url', message: 'is required with mode webhook' }] }
  if (!isWebhookUrl(url, httpHosts)) {
    return { errors: [{ path: 'webhook_url', message: 'must be https (or http on loopback)' }] }
  }
  return { webhookUrl: url, plan: sandbox }
}

const jobReceipt = (job: Job, hit: boolean) => ({
  data: {
    request_id: job.id,
    status_url: `/v1/jobs/${job.id}/status`,
    result_url: `/v1/jobs/${job.id}/result`,
    idempotency_hit: hit,
    job: { id: job.id, type: job.type, status: hit ? job.state : 'queued' },
  },
})

const runReceipt = (job: Job, hit: boolean) => ({
  data: {
    run_id: job.id,
    request_id: job.requestId,
    status: hit ? job.state : 'queued',
    idempotency_hit: hit,
  },
})
