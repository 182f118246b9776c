import { randomUUID } from 'node:crypto'
import { signDelivery } from '@sume-inbox/shared/sume'

export const TEST_SECRET = 'whsec_test_only_0123456789'

/** The body of a job's webhook; only what matters to a test need be given. */
export function jobBody(
  fields: { jobId?: string; event?: string; status?: string } & Record<string, unknown> = {},
) {
  const { jobId = `job_${randomUUID()}`, event = 'job.completed', status = 'OK', ...rest } = fields
  const body = Buffer.from(
    JSON.stringify({ event, status, request_id: jobId, job_id: jobId, ...rest }),
  )
  return { jobId, body }
}

/** The body of a run's webhook. */
export function runBody(
  fields: { runId?: string; requestId?: string; event?: string; status?: string } = {},
) {
  const { runId = `run_${randomUUID()}`, requestId = `req_${randomUUID()}` } = fields
  const { event = 'run.completed', status = 'OK' } = fields
  const body = Buffer.from(JSON.stringify({ event, status, run_id: runId, request_id: requestId }))
  return { runId, requestId, dedupeKey: `run:${requestId}`, body }
}

/** Sends a delivery as Sume does, signed now. */
export async function deliver(
  url: string,
  body: Buffer,
  options: { secret?: string; timestamp?: number; headers?: Record<string, string> } = {},
): Promise<{ status: number; answer: unknown; headers: Headers; ms: number }> {
  const timestamp = options.timestamp ?? Math.floor(Date.now() / 1000)
  const start = performance.now()
  const response = await fetch(`${url}/webhooks/sume`, {
    method: 'POST',
    body: new Uint8Array(body),
    headers: {
      'content-type': 'application/json',
      ...signDelivery(body, options.secret ?? TEST_SECRET, timestamp),
      ...options.headers,
    },
  })
  const answer: unknown = await response.json()
  return {
    status: response.status,
    answer,
    headers: response.headers,
    ms: performance.now() - start,
  }
}
