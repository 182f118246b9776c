import { isEnded, type Job } from './job.ts'
import { sign } from './sign.ts'
import { eventId, webhookBody } from './webhook-body.ts'

export interface DelivererOptions {
  readonly secret: string
  readonly signatureHeader: string
  readonly timestampHeader: string
  /** The pause before the second try; it doubles from there to a minute. */
  readonly retryBaseMs: number
  readonly log: { info(fields: object, message: string): void }
}

/** Sends webhooks as Sume does: up to ten tries of ten seconds, each freshly stamped and signed. */
export interface Deliverer {
  /** By the job's plan; a job without a URL gets none, nor does a cancelled or skipped run. */
  deliver(job: Job): void
  /** The same terminal event once more, with all its tries. */
  redeliver(job: Job): void
  /** Gives up every delivery under way and waits for it. */
  stop(): Promise<void>
}

const MAX_TRIES = 10
const TRY_MS = 10_000
const REORDER_MS = 5000

export function makeDeliverer(options: DelivererOptions): Deliverer {
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  /** Held by `reorder`, each to be let go when another job's webhook has been sent. */
  const held = new Set<{ job: Job; go: () => void }>()

  const start = (work: Promise<void>) => {
    running.add(work)
    void work.finally(() => running.delete(work))
  }
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      if (stopping.signal.aborted) return resolve()
      const end = () => {
        clearTimeout(timer)
        stopping.signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      stopping.signal.addEventListener('abort', end)
    })
  const letGo = (sent: Job) => {
    for (const waiting of held) if (waiting.job !== sent) waiting.go()
  }
  const waitForAnother = async (job: Job) => {
    const turn = Promise.withResolvers<void>()
    const waiting = { job, go: turn.resolve }
    held.add(waiting)
    await Promise.race([turn.promise, pause(REORDER_MS)])
    held.delete(waiting)
  }

  const tryOnce = async (
    job: Job,
    url: string,
    body: Buffer,
    redeliver: boolean,
  ): Promise<boolean> => {
    const timestamp = Math.floor(Date.now() / 1000)
    const at = new Date().toISOString()
    let status: number | null = null
    let error: string | null = null
    try {
      const response = await fetch(url, {
        method: 'POST',
        body: new Uint8Array(body),
        redirect: 'manual',
        signal: AbortSignal.any([AbortSignal.timeout(TRY_MS), stopping.signal]),
        headers: {
          'content-type': 'application/json',
          'user-agent': 'sume-sandbox',
          'x-sume-event-id': eventId(job),
          [options.timestampHeader]: String(timestamp),
          [options.signatureHeader]: sign(body, options.secret, timestamp),
        },
      })
      status = response.status
      await response.arrayBuffer()
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.name : 'unknown'
    }
    job.tries.push({ at, status, error, redeliver })
    options.log.info({ id: job.id, status, error, try: job.tries.length }, 'webhook sent')
    letGo(job)
    return status !== null && status >= 200 && status < 300
  }

  const send = async (job: Job, redeliver: boolean): Promise<void> => {
    if (job.webhookUrl === null) return
    job.webhookBody ??= webhookBody(job)
    for (let n = 0; n < MAX_TRIES && !stopping.signal.aborted; n++) {
      if (n > 0) await pause(Math.min(options.retryBaseMs * 2 ** (n - 1), 60_000))
      if (
        stopping.signal.aborted ||
        (await tryOnce(job, job.webhookUrl, job.webhookBody, redeliver))
      )
        return
    }
  }

  return {
    deliver(job) {
      if (job.webhookUrl === null || !isEnded(job)) return
      if (job.kind === 'run' && (job.state === 'canceled' || job.state === 'skipped')) return
      switch (job.plan.webhook) {
        case 'drop':
          return
        case 'deliver':
          return start(send(job, false))
        case 'duplicate':
          start(send(job, false))
          return start(send(job, false))
        case 'delay':
          return start(pause(job.plan.webhook_delay_ms).then(() => send(job, false)))
        case 'reorder':
          return start(waitForAnother(job).then(() => send(job, false)))
      }
    },
    redeliver: (job) => start(send(job, true)),
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}
