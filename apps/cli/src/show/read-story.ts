import {
  type EventSummary,
  type Ledger,
  listAttempts,
  listReplays,
  readPayload,
} from '@sume-inbox/shared/ledger'

/** The latest of them; an event that snoozes has very many. */
const MOST = 100

export type Story = Awaited<ReturnType<typeof readStory>>

/** An event's row, attempts and replays; its payload only when asked for. */
export async function readStory(ledger: Ledger, event: EventSummary, withPayload: boolean) {
  return {
    event,
    attempts: await listAttempts(ledger, event.dedupe_key, MOST),
    replays: await listReplays(ledger, event.dedupe_key, MOST),
    ...(withPayload ? { payload: await readPayload(ledger, event.dedupe_key) } : {}),
  }
}
