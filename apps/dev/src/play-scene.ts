import { type EventSummary, findEvents, type Ledger } from '@sume-inbox/shared/ledger'
import { waitFor } from '@sume-inbox/testing'
import type { Scene } from './scenes.ts'

export interface Stage {
  readonly sandboxUrl: string
  /** What Sume is told to call. */
  readonly webhookUrl: string
  readonly ledger: Ledger
}

/** How long a scene may take before the demo counts as failed. */
const PATIENCE_MS = 45_000

/**
 * Submits a scene's job and follows its event to the scene's ending.
 *
 * @param tell is told each step, in words.
 * @throws when the event does not come to that ending in time.
 */
export async function playScene(
  scene: Scene,
  stage: Stage,
  tell: (step: string) => void,
): Promise<EventSummary> {
  const id = await submit(scene, stage)
  tell(`${id}: submitted`)
  const reached = (what: string, holds: (event: EventSummary) => boolean) =>
    waitFor(
      `${scene.title}: ${what}`,
      async () => {
        const [event] = await findEvents(stage.ledger, id)
        if (event === undefined) return undefined
        tell(`${id}: ${event.event}, ${words(event)}`)
        return holds(event) ? event : undefined
      },
      PATIENCE_MS,
    )
  await reached('done', (event) => event.state === 'done')
  if (scene.redeliver === true) {
    await post(`${stage.sandboxUrl}/_sandbox/jobs/${encodeURIComponent(id)}/redeliver`, {})
  }
  const { attempts, deliveries } = scene.ending
  return reached(
    `${attempts} attempt(s), ${deliveries} deliveries`,
    (event) =>
      event.state === 'done' && event.attempts === attempts && event.deliveries === deliveries,
  )
}

const words = (event: EventSummary): string =>
  [
    event.state,
    event.deliveries > 1 ? `delivered ${event.deliveries} times` : '',
    event.attempts > 1 ? `attempt ${event.attempts}` : '',
    event.state === 'claimed' && event.last_error !== null ? `"${event.last_error}"` : '',
  ]
    .filter((part) => part !== '')
    .join(', ')

async function submit(scene: Scene, stage: Stage): Promise<string> {
  const answer = await post(`${stage.sandboxUrl}${scene.path}`, {
    ...scene.body,
    mode: 'webhook',
    webhook_url: stage.webhookUrl,
  })
  const data = answer['data'] as { run_id?: string; request_id?: string } | undefined
  const id = data?.run_id ?? data?.request_id
  if (id === undefined) throw new Error(`the sandbox gave no id: ${JSON.stringify(answer)}`)
  return id
}

async function post(url: string, body: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer sandbox-key',
      'idempotency-key': crypto.randomUUID(),
    },
    signal: AbortSignal.timeout(10_000),
  })
  const answer = (await response.json()) as Record<string, unknown>
  if (!response.ok)
    throw new Error(`the sandbox answered ${response.status}: ${JSON.stringify(answer)}`)
  return answer
}
