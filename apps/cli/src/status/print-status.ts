import type { EventCount, ListedEvent } from '@sume-inbox/shared/ledger'
import { ageText } from '../age-text.ts'
import type { Out } from '../out.ts'
import { table } from '../table.ts'
import type { QueueStatus } from './read-queue.ts'
import type { Status } from './read-status.ts'

const STATES = ['claimed', 'dead', 'done'] as const
const TOO_LARGE = 'not counted: that took longer than DATABASE_TIMEOUT_MS'
const MAX_ERROR = 60

export function printStatus(status: Status & { queue: QueueStatus }, out: Out): void {
  out.line(status.counts === null ? `events ${TOO_LARGE}` : countTable(status.counts))
  printList(out, 'Claimed, ERROR first, the oldest first', status.claimed)
  printList(out, 'Dead: a person must look', status.dead)
  out.line('')
  out.line(`Lag: ${lagText(status.lag)}`)
  out.line(`Queue: ${queueText(status.queue)}`)
  out.line(`Delivered more than once: ${redeliveredText(status.redelivered)}`)
  out.line(`Intents: ${intentsText(status.intents)}`)
  const bodies = status.quarantine.reduce((sum, { bodies: n }) => sum + n, 0)
  const reasons = status.quarantine.map(({ reason, bodies: n }) => `${n} ${reason}`).join(', ')
  out.line(`In quarantine: ${bodies === 0 ? 'nothing' : `${bodies} bodies (${reasons})`}`)
}

const lagText = ({ due, longestS }: Status['lag']): string =>
  due === 0 ? 'nothing is due' : `${due} events are due, one of them for ${ageText(longestS)}`

const queueText = (queue: QueueStatus): string =>
  'unknown' in queue
    ? `not known: ${queue.unknown}`
    : `${queue.waiting} waiting, ${queue.active} active, ${queue.delayed} delayed, ${queue.failed} failed`

function intentsText(intents: Status['intents']): string {
  const open = intents.filter(({ intents: n }) => n > 0)
  if (open.length === 0) return 'every one has its event'
  return open
    .map(({ state, intents: n, oldestS }) => `${n} ${state} (the oldest for ${ageText(oldestS)})`)
    .join(', ')
}

function redeliveredText(redelivered: Status['redelivered']): string {
  if (redelivered === null) return TOO_LARGE
  const { events, mostDeliveries, diverged } = redelivered
  if (events === 0) return 'no event'
  const differing = diverged === 0 ? '' : `, ${diverged} with another status later`
  return `${events} events, at most ${mostDeliveries} times${differing}`
}

function countTable(counts: readonly EventCount[]): string {
  if (counts.length === 0) return 'no events yet'
  const count = (state: string, kind: string, status?: string) =>
    counts
      .filter((c) => c.state === state && c.kind === kind)
      .filter((c) => status === undefined || c.status === status)
      .reduce((sum, c) => sum + c.events, 0)
  return table(
    ['state', 'jobs', 'of them ERROR', 'runs', 'of them ERROR'],
    STATES.map((state) => [
      state,
      count(state, 'job'),
      count(state, 'job', 'ERROR'),
      count(state, 'run'),
      count(state, 'run', 'ERROR'),
    ]),
  )
}

function printList(out: Out, title: string, events: readonly ListedEvent[]): void {
  if (events.length === 0) return
  out.line(`\n${title}`)
  out.line(
    table(
      ['dedupe key', 'event', 'status', 'age', 'attempts', 'now', 'last error'],
      events.map((event) => [
        event.dedupe_key,
        event.event,
        event.status,
        ageText(event.age_s),
        event.attempts,
        standing(event),
        shortError(event.last_error),
      ]),
    ),
  )
}

/** What happens next to an event, by MySQL's clock. */
function standing(event: ListedEvent): string {
  if (event.state !== 'claimed') return event.state
  if (event.leased === 1) return 'running'
  return event.overdue_s > 0 ? `due for ${ageText(event.overdue_s)}` : 'in the queue'
}

const shortError = (error: string | null): string => {
  const line = error?.split('\n', 1)[0] ?? ''
  return line.length > MAX_ERROR ? `${line.slice(0, MAX_ERROR)}…` : line
}
