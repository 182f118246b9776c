import { randomUUID } from 'node:crypto'
import type { Job } from './job.ts'
import type { Plan } from './plan.ts'

/** Ended jobs beyond this are forgotten, the oldest first. */
const MAX_JOBS = 100_000

interface NewJob {
  readonly kind: Job['kind']
  readonly key: string | null
  readonly path: string
  readonly body: string
  readonly type: string
  readonly webhookUrl: string | null
  readonly plan: Plan
}

/** Every job that was paid for, by id and by key. */
export interface Store {
  /** A job that is new, the one of the same key and body, or a conflict when the key was used for another body. */
  submit(wanted: NewJob): { job: Job; hit: boolean } | 'conflict'
  get(id: string): Job | undefined
  all(): Job[]
  clear(): void
}

export function makeStore(now: () => Date): Store {
  const jobs = new Map<string, Job>()
  const byKey = new Map<string, Job>()

  const forgetOldest = () => {
    for (const job of jobs.values()) {
      if (jobs.size <= MAX_JOBS) return
      jobs.delete(job.id)
      if (job.key !== null) byKey.delete(job.key)
    }
  }
  return {
    submit(wanted) {
      const before = wanted.key === null ? undefined : byKey.get(wanted.key)
      if (before !== undefined) {
        const same = before.body === wanted.body && before.path === wanted.path
        return same ? { job: before, hit: true } : 'conflict'
      }
      const id = `${wanted.kind}_${randomUUID()}`
      const job: Job = {
        ...wanted,
        id,
        requestId: wanted.kind === 'job' ? id : `req_${randomUUID()}`,
        submittedAt: now().toISOString(),
        state: 'queued',
        error: null,
        tries: [],
        webhookBody: null,
      }
      jobs.set(id, job)
      if (job.key !== null) byKey.set(job.key, job)
      forgetOldest()
      return { job, hit: false }
    },
    get: (id) => jobs.get(id),
    all: () => [...jobs.values()],
    clear() {
      jobs.clear()
      byKey.clear()
    },
  }
}
