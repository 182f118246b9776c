import type { AttemptRow, ReplayRow } from '@sume-inbox/shared/ledger'
import type { Out } from '../out.ts'
import type { Story } from './read-story.ts'

const LABEL = 13

export function printStory({ event, attempts, replays, payload }: Story, out: Out): void {
  const field = (label: string, value: string | number | null) => {
    if (value !== null && value !== '') out.line(`  ${label.padEnd(LABEL)} ${value}`)
  }
  out.line(`${event.dedupe_key}  ${event.event}  ${event.status}  ${event.state}`)
  field(event.kind === 'job' ? 'job_id' : 'run_id', event.sume_id)
  field('request_id', event.request_id)
  field('known by', event.source)
  field(
    'deliveries',
    `${event.deliveries}${event.diverged === 0 ? '' : ' (a later one said another status)'}`,
  )
  field('attempts', event.attempts)
  field('snoozes', event.snoozes === 0 ? null : event.snoozes)
  field('first seen', time(event.first_seen))
  field('last seen', time(event.last_seen))
  if (event.state === 'claimed') field('due at', time(event.due_at))
  if (event.leased_until !== null)
    field('leased until', `${time(event.leased_until)} by ${event.leased_by ?? 'nobody known'}`)
  field('done at', event.done_at === null ? null : time(event.done_at))
  field('last error', indented(event.last_error))
  if (attempts.length > 0) out.line('\n  Attempts that did not end in done')
  for (const attempt of attempts) out.line(`  ${attemptLine(attempt)}`)
  if (replays.length > 0) out.line('\n  Replays')
  for (const replay of replays) out.line(`  ${replayLine(replay)}`)
  if (payload !== undefined) out.line(`\n${payload || '(emptied by age: RETAIN_PAYLOAD_DAYS)'}`)
  out.line('')
}

const attemptLine = (row: AttemptRow): string => {
  const from = row.started_at === null ? '' : `  ${time(row.started_at)}`
  const to = row.ended_at === null ? '' : ` to ${time(row.ended_at)}`
  const who = row.worker === null ? '' : `  ${row.worker}`
  const error = row.error === null ? '' : `  ${indented(row.error)}`
  return `${row.attempt}  ${row.outcome}${from}${to}${who}${error}`
}

const replayLine = (row: ReplayRow): string =>
  `${time(row.replayed_at)}  ${row.what} by ${row.replayed_by}${row.why === null ? '' : `: ${row.why}`}`

const time = (date: Date): string => date.toISOString()

/** An error of several lines stays under its label. */
const indented = (text: string | null): string | null =>
  text === null ? null : text.replaceAll('\n', `\n  ${' '.repeat(LABEL)} `)
