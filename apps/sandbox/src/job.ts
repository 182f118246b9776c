import type { Plan } from './plan.ts'

type JobState = 'queued' | 'processing' | 'completed' | 'failed' | 'canceled' | 'skipped'

/** One try at one delivery of a job's webhook. */
interface Try {
  readonly at: string
  /** The receiver's status, or `null` where there was no answer. */
  readonly status: number | null
  readonly error: string | null
  readonly redeliver: boolean
}

/** A paid job, or a run of a Format. */
export interface Job {
  readonly id: string
  readonly kind: 'job' | 'run'
  /** What its webhook carries as `request_id`: for a job the same as its id. */
  readonly requestId: string
  readonly key: string | null
  readonly path: string
  readonly body: string
  readonly type: string
  readonly webhookUrl: string | null
  readonly plan: Plan
  readonly submittedAt: string
  state: JobState
  error: { code: string; message: string; public_reason?: string } | null
  readonly tries: Try[]
  /** The webhook's bytes, made once: every try and every Redeliver sends the same. */
  webhookBody: Buffer | null
}

export const isEnded = (job: Job): boolean => job.state !== 'queued' && job.state !== 'processing'

/** A job's files; the same for the same job. */
export const artifactsOf = (job: Job) => {
  const kind =
    job.type === 'image'
      ? { type: 'image', content_type: 'image/png', ending: 'png' }
      : { type: 'video', content_type: 'video/mp4', ending: 'mp4' }
  return [
    {
      url: `https://media.sandbox.invalid/${job.id}/0.${kind.ending}`,
      type: kind.type,
      content_type: kind.content_type,
    },
  ]
}
