import { deriveKey, reserve } from '@sume-inbox/shared/intents'
import { type EventSummary, findEvents, type Ledger, readIntent } from '@sume-inbox/shared/ledger'
import { waitFor } from '@sume-inbox/testing'
import type { Scene } from './scenes.ts'

export interface Stage {
  readonly sandboxUrl: string
  /** What Sume is told to call. */
  readonly webhookUrl: string
  readonly ledger: Ledger
  /** Of this run of the demo: its submits are paid anew, whatever an earlier one left in the ledger. */
  readonly playing: string
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
  const { title, path, body } = scene
  // As an application does it: in its own transaction if it has one, and a worker sends it.
  const key = deriveKey('demo', stage.playing, title)
  await reserve(stage.ledger, { key, path, body }, { webhookUrl: stage.webhookUrl })
  tell('reserved')
  const id = await waitFor(
    `${title}: submitted`,
    async () => (await readIntent(stage.ledger, key))?.sume_id,
    PATIENCE_MS,
  )
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
    await redeliver(`${stage.sandboxUrl}/_sandbox/jobs/${encodeURIComponent(id)}/redeliver`)
  }
  const { source, attempts, deliveries } = scene.ending
  return reached(
    `known by ${source}, ${attempts} attempt(s), ${deliveries} deliveries`,
    (event) =>
      event.state === 'done' &&
      event.source === source &&
      event.attempts === attempts &&
      event.deliveries === deliveries,
  )
}

const words = (event: EventSummary): string =>
  [
    event.state,
    event.source === 'poll' ? 'asked for' : '',
    event.deliveries > 1 ? `delivered ${event.deliveries} times` : '',
    event.attempts > 1 ? `attempt ${event.attempts}` : '',
    event.state === 'claimed' && event.last_error !== null ? `"${event.last_error}"` : '',
  ]
    .filter((part) => part !== '')
    .join(', ')

async function redeliver(url: string): Promise<void> {
  const response = await fetch(url, { method: 'POST', signal: AbortSignal.timeout(10_000) })
  const answer = await response.text()
  if (!response.ok) throw new Error(`the sandbox answered ${response.status}: ${answer}`)
}
