import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { type Ledger, retryEvent } from '@sume-inbox/shared/ledger'
import { type FollowUpJob, hasMovedOn } from '@sume-inbox/shared/queues'
import { errorText } from '@sume-inbox/shared/runtime'
import type { Logger } from '@sume-inbox/shared/telemetry'

type BoardJob = Awaited<ReturnType<BullMQAdapter['getJobs']>>[number]
type Queue = ConstructorParameters<typeof BullMQAdapter>[0]

export interface RevivingDeps {
  readonly ledger: Ledger
  readonly maxAttempts: number
  readonly log: Logger
}

/** Who `sume_replays` says it was: the console knows roles and no names. */
const REVIVER = { by: 'operator (console)', why: null }

/**
 * The queue as Bull Board sees it. A job's retry first revives the event's row in the ledger, whichever of
 * the board's buttons or routes asked for it: they all get their jobs from here.
 */
export class RevivingAdapter extends BullMQAdapter {
  /** A completed job's event is done: retrying it would do nothing. */
  override readonly allowCompletedRetries = false
  readonly #deps: RevivingDeps

  constructor(queue: Queue, deps: RevivingDeps) {
    super(queue)
    this.#deps = deps
    // Whatever somebody else put into the job: of its data only what it should carry is shown.
    this.setFormatter('data', (data: Partial<FollowUpJob> | null) => ({
      dedupeKey: data?.dedupeKey ?? null,
    }))
    // The job's id is a hash that says nothing to a person.
    this.setFormatter('name', (job: { name: string; data: Partial<FollowUpJob> | null }) =>
      `${job.name} ${job.data?.dedupeKey ?? ''}`.trim(),
    )
    this.setFormatter('returnValue', () => null)
    this.setFormatter('progress', () => 0)
  }

  /** Of a job's relatives the board would show what the formatters hold back; our jobs have none. */
  override getFlowProducer(): Promise<null> {
    return Promise.resolve(null)
  }

  /** Nothing of ours writes into a job's log. */
  override getJobLogs(): Promise<string[]> {
    return Promise.resolve([])
  }

  override async getJob(id: string): Promise<BoardJob | undefined> {
    const job = await super.getJob(id)
    return job === undefined ? undefined : reviving(job, this.#deps)
  }

  override async getJobs(...args: Parameters<BullMQAdapter['getJobs']>): Promise<BoardJob[]> {
    const jobs = await super.getJobs(...args)
    return jobs.map((job) => reviving(job, this.#deps))
  }
}

function reviving(job: BoardJob, { ledger, maxAttempts, log }: RevivingDeps): BoardJob {
  const retry = job.retry.bind(job)
  job.retry = async (state) => {
    const { dedupeKey } = (job.toJSON().data ?? {}) as Partial<FollowUpJob>
    // Refused when the event is not dead. The job is retried all the same: a worker asks the ledger
    // first, so that it runs only what is still to be done.
    const revived =
      typeof dedupeKey === 'string' && (await retryEvent(ledger, dedupeKey, maxAttempts, REVIVER))
    if (revived) log.info({ dedupeKey }, 'dead event revived by an operator')
    try {
      await retry(state)
    } catch (error) {
      // The row is what counts: a revived event is due, and the sweeper brings its job back.
      if (!revived && !hasMovedOn(error)) throw error
      log.warn({ dedupeKey, error: errorText(error) }, 'the job could not be retried')
    }
  }
  return job
}
