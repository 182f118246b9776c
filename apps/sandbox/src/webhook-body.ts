import { artifactsOf, type Job } from './job.ts'

/** The body of a job's or run's webhook. */
export function webhookBody(job: Job): Buffer {
  const ok = job.state === 'completed'
  const end = ok
    ? { result: { artifacts: artifactsOf(job) } }
    : { error: job.error ?? { code: 'unknown', message: 'the job did not complete' } }
  const ids =
    job.kind === 'job'
      ? { request_id: job.requestId, job_id: job.id }
      : { request_id: job.requestId, run_id: job.id }
  return Buffer.from(
    JSON.stringify({
      event: `${job.kind}.${job.state}`,
      status: ok ? 'OK' : 'ERROR',
      ...ids,
      ...end,
    }),
  )
}

/** Stable for each resource and terminal event. */
export const eventId = (job: Job): string => `evt_${job.id}_${job.state}`
