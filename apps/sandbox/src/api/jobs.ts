import type { FastifyInstance, FastifyReply } from 'fastify'
import { sendError } from '../errors.ts'
import { artifactsOf, isEnded, type Job } from '../job.ts'
import type { ApiDeps } from './submits.ts'

const POLL_SECONDS = 2

/** Status, result and cancel of jobs, and the reading of runs. */
export async function jobs(app: FastifyInstance, { store, lifecycle }: ApiDeps): Promise<void> {
  const find = (id: string, kind: Job['kind'], reply: FastifyReply): Job | undefined => {
    const job = store.get(id)
    if (job?.kind === kind) return job
    sendError(reply, {
      status: 404,
      code: 'not_found',
      message: `there is no such ${kind}`,
      retryable: false,
    })
    return undefined
  }

  app.get<{ Params: { id: string } }>('/v1/jobs/:id/status', async (request, reply) => {
    const job = find(request.params.id, 'job', reply)
    return job === undefined ? reply : { data: status(job) }
  })

  app.get<{ Params: { id: string } }>('/v1/jobs/:id/result', async (request, reply) => {
    const job = find(request.params.id, 'job', reply)
    if (job === undefined) return reply
    if (!isEnded(job)) {
      return sendError(reply, {
        status: 409,
        code: 'job_not_finished',
        message: 'the job has not ended yet',
        retryable: true,
      })
    }
    if (job.state === 'completed') {
      return { data: { status: 'COMPLETED', result: { artifacts: artifactsOf(job) } } }
    }
    return { data: { status: job.state === 'failed' ? 'FAILED' : 'CANCELED', ...status(job) } }
  })

  app.post<{ Params: { id: string } }>('/v1/jobs/:id/cancel', async (request, reply) => {
    const job = find(request.params.id, 'job', reply)
    if (job === undefined) return reply
    const refuse = (code: string, message: string) =>
      sendError(reply, { status: 409, code, message, retryable: false })
    if (isEnded(job)) return refuse('job_not_cancelable', 'the job has ended')
    if (job.state === 'processing') {
      return refuse('job_generation_already_started', 'the model is at work already')
    }
    lifecycle.cancel(job)
    return { data: status(job) }
  })

  app.get<{ Params: { id: string } }>('/v1/runs/:id', async (request, reply) => {
    const run = find(request.params.id, 'run', reply)
    if (run === undefined) return reply
    return {
      data: {
        run_id: run.id,
        request_id: run.requestId,
        status: run.state,
        ...(run.state === 'completed' ? { result: { artifacts: artifactsOf(run) } } : {}),
        ...(run.error === null ? {} : { error: run.error }),
      },
    }
  })
}

const status = (job: Job) => ({
  sume_status: job.state,
  job: {
    id: job.id,
    type: job.type,
    status: job.state,
    ...(job.error === null ? {} : { error: job.error }),
  },
  ...(isEnded(job) ? {} : { recommended_poll_interval_seconds: POLL_SECONDS }),
})
