import type { Services } from '@sume-inbox/services'
import type { EventSummary } from '@sume-inbox/shared/ledger'
import Table from 'cli-table3'
import pc from 'picocolors'
import type { System } from './system.ts'

/** The demo's events, one a row. */
export function eventTable(events: readonly { title: string; event: EventSummary }[]): string {
  const table = new Table({
    head: ['', 'event', 'known by', 'state', 'deliveries', 'attempts', 'took'],
    style: { head: pc.isColorSupported ? ['cyan'] : [], border: [], compact: true },
    colAligns: ['left', 'left', 'left', 'left', 'right', 'right', 'right'],
  })
  for (const { title, event } of events) {
    const took = (event.done_at?.getTime() ?? Number.NaN) - event.first_seen.getTime()
    table.push([
      title,
      event.event,
      event.source,
      event.state === 'done' ? pc.green(event.state) : pc.red(event.state),
      event.deliveries,
      event.attempts,
      `${took} ms`,
    ])
  }
  return table.toString()
}

/** Where everything answers, and what to try next. */
export function addresses(services: Services, system: System, someId: string): string {
  const { sandbox, receiver, workers, console } = system
  return [
    pc.bold('Where it runs'),
    `  receiver   ${receiver.url}/webhooks/sume   ready? ${receiver.url}/health/ready`,
    ...workers.map(
      (worker, i) => `  worker ${i + 1}   ${worker.internalUrl}/health/ready   pid ${worker.pid}`,
    ),
    `  console    ${console.url}   the queue, in a browser`,
    `  sandbox    ${sandbox.url}/_sandbox/jobs`,
    `  MySQL      ${services.databaseUrl}`,
    `  Redis      ${services.redisUrl}`,
    `  logs       ${system.logs}`,
    '',
    pc.bold('What to try next, in another terminal'),
    `  pnpm sume status                       what is in the ledger`,
    `  pnpm sume submit --path /v1/image-router/generate --body '{"model":"sandbox/image"}' --wait`,
    `  pnpm sume trigger job.failed           one signed delivery to the receiver`,
    `  curl -X POST ${sandbox.url}/_sandbox/jobs/${someId}/redeliver`,
    `  kill -9 ${workers[0]?.pid}                         then trigger again: the other worker goes on`,
    '',
    'Ctrl-C stops everything.',
  ].join('\n')
}

/** A process's log line as one short line for a person, or nothing for what a person need not see. */
export function shortLine(app: string, line: Record<string, unknown>): string | undefined {
  const text = (key: string) => (typeof line[key] === 'string' ? line[key] : '')
  const level = typeof line['level'] === 'number' ? line['level'] : 30
  if (text('dedupeKey') === '' && level < 40) return undefined
  const colour = level >= 50 ? pc.red : level >= 40 ? pc.yellow : pc.green
  const about = [text('dedupeKey'), text('event'), text('error')]
    .filter((part) => part !== '')
    .join('  ')
  return `${pc.dim(text('time').slice(11, 23))}  ${app.padEnd(9)} ${colour(text('msg'))}  ${about}`
}
