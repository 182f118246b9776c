import type { Deliverer } from './deliverer.ts'
import { isEnded, type Job } from './job.ts'

/** Takes jobs from queued to their end, by their plans. */
export interface Lifecycle {
  begin(job: Job): void
  /** Ends a job now, as canceled. */
  cancel(job: Job): void
  stop(): void
}

export function makeLifecycle(deliverer: Deliverer): Lifecycle {
  const timers = new Map<Job, NodeJS.Timeout>()

  const later = (job: Job, ms: number, next: () => void) => {
    timers.set(job, setTimeout(next, ms))
  }
  const end = (job: Job) => {
    timers.delete(job)
    if (isEnded(job)) return
    finish(job)
    deliverer.deliver(job)
  }
  return {
    begin(job) {
      // The first half in the queue, where it may still be canceled; the second in work.
      later(job, job.plan.run_ms / 2, () => {
        job.state = 'processing'
        later(job, job.plan.run_ms / 2, () => end(job))
      })
    },
    cancel(job) {
      clearTimeout(timers.get(job))
      timers.delete(job)
      job.state = 'canceled'
      job.error = CANCELED
      deliverer.deliver(job)
    },
    stop() {
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
    },
  }
}

const CANCELED = { code: 'canceled', message: 'the job was canceled' }

function finish(job: Job): void {
  switch (job.plan.outcome) {
    case 'completed':
      job.state = 'completed'
      return
    case 'failed':
      job.state = 'failed'
      job.error = { code: 'provider_failed', message: 'the model gave up' }
      return
    case 'content_policy':
      job.state = 'failed'
      job.error = {
        code: 'content_policy_rejected',
        message: 'the request was refused',
        public_reason: 'content_policy_rejected',
      }
      return
    case 'canceled':
      job.state = 'canceled'
      job.error = CANCELED
      return
    case 'skipped':
      // Only runs are skipped; a job planned so is canceled.
      job.state = job.kind === 'run' ? 'skipped' : 'canceled'
      job.error =
        job.kind === 'run' ? { code: 'skipped', message: 'the run was skipped' } : CANCELED
  }
}
