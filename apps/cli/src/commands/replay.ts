import type { EventSummary } from '@sume-inbox/shared/ledger'
import {
  countMatching,
  type OperatorDeps,
  type Replayed,
  replayMany,
  replayOne,
} from '@sume-inbox/shared/operator'
import { Option } from 'commander'
import { type Cli, CommandError, EXIT, type ExitCode } from '../cli.ts'
import { leftToSweeper, operate, reviverOf } from '../operate.ts'
import { openProgress } from '../progress.ts'
import { readFilter, readMoment, type ReplayOptions } from '../replay/options.ts'
import type { Register } from '../run.ts'
import { findEvent } from '../show/find-event.ts'

const EXAMPLES = `
A replay gives an event all its attempts again. Dead events are meant; one that is done only with --force:
its follow-up then runs a second time. Every replay is written down, with who and why: sume show tells.
With --dead or --done nothing is changed without --yes: the events are counted. It may be stopped
(Ctrl-C) and called again.

Examples:
  $ sume replay job_1f0c --why 'mail server is back'
  $ sume replay --dead                                   how many there are
  $ sume replay --dead --yes
  $ sume replay --dead --event job.failed --since 2h --error ETIMEDOUT --yes
  $ sume replay run_2b4d --force`

export const registerReplay: Register = (program, cli, done) => {
  program
    .command('replay')
    .summary("run events' follow-ups again")
    .description("Run events' follow-ups again: of one event, or of many.")
    .argument('[ids...]', 'dedupe key, job_id, run_id or request_id of each')
    .option('--dead', 'the dead events, all or those that the filters mean')
    .option('--done', 'the same for events that are done; needs --force')
    .option('--force', 'also events that are done')
    .addOption(new Option('--kind <kind>', 'filter: of this kind').choices(['job', 'run']))
    .addOption(new Option('--status <status>', 'filter: of this status').choices(['OK', 'ERROR']))
    .option('--event <name>', "filter: the event's name, whole")
    .option(
      '--since <when>',
      'filter: first seen then or later (2h, 7d, 2026-01-31T12:00Z)',
      moment,
    )
    .option('--until <when>', 'filter: first seen before', moment)
    .option('--error <text>', 'filter: with this in the last error')
    .option('--yes', 'do it; without it the events are counted')
    .option('--why <text>', 'the reason, for the story')
    .option('--by <name>', 'who does it (default: your account here)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (ids: string[], options: ReplayOptions) => {
      const filter = readFilter(ids, options)
      done(
        await operate(cli, (deps) =>
          filter === null
            ? replayIds(deps, cli, ids, options)
            : options.yes === true
              ? replayMatching(deps, cli, filter, options)
              : tellCount(deps, cli, filter, options),
        ),
      )
    })
}

const moment = (text: string) => readMoment(text)

type Filter = NonNullable<ReturnType<typeof readFilter>>

const WHY: Readonly<Record<(Replayed & { replayed: false })['because'], string>> = {
  claimed: 'it is not over: nothing to replay',
  done: 'it is done; --force runs its follow-up a second time',
  emptied: 'its payload was emptied by age (RETAIN_PAYLOAD_DAYS), so there is nothing to follow up',
}

async function replayIds(
  deps: OperatorDeps,
  cli: Cli,
  ids: readonly string[],
  options: ReplayOptions,
): Promise<ExitCode> {
  // All are looked up before any is replayed: a typing error in the last must not leave half of it done.
  const events = new Map<string, EventSummary>()
  for (const id of ids)
    for (const event of await findEvent(deps.ledger, id)) events.set(event.dedupe_key, event)
  const told: ({ dedupeKey: string } & Replayed)[] = []
  for (const event of events.values()) {
    const force = options.force === true
    const replayed = await replayOne(deps, event, { force, reviver: reviverOf(cli, options) })
    told.push({ dedupeKey: event.dedupe_key, ...replayed })
    if (options.json !== true) cli.out.line(`${event.dedupe_key}: ${lineOf(replayed)}`)
  }
  if (options.json === true) cli.out.json(told)
  return told.every(({ replayed }) => replayed) ? EXIT.ok : EXIT.failed
}

const lineOf = (replayed: Replayed): string => {
  if (!replayed.replayed) return `not replayed: ${WHY[replayed.because]}`
  return replayed.enqueued ? 'replayed' : `replayed; ${leftToSweeper(1)}`
}

async function tellCount(
  { ledger }: OperatorDeps,
  cli: Cli,
  filter: Filter,
  options: ReplayOptions,
): Promise<ExitCode> {
  const matched = await countMatching(ledger, filter)
  if (options.json === true)
    cli.out.json({ matched, replayed: 0, leftToSweeper: 0, stopped: false })
  else cli.out.line(`${matched} events match; nothing was changed. Add --yes to replay them`)
  return EXIT.ok
}

async function replayMatching(
  deps: OperatorDeps,
  cli: Cli,
  filter: Filter,
  options: ReplayOptions,
): Promise<ExitCode> {
  const total = await countMatching(deps.ledger, filter)
  const progress = openProgress(cli.out)
  let replayed = 0
  const report = await replayMany(deps, filter, {
    reviver: reviverOf(cli, options),
    signal: cli.stoppable(),
    progress: (so) => {
      ;({ replayed } = so)
      progress(() => `${so.matched} of ${total}`)
    },
  }).catch((error: unknown) => {
    cli.out.note(`${replayed} events were replayed before it failed; call it again for the rest`)
    throw error
  })
  if (options.json === true) cli.out.json(report)
  else {
    cli.out.line(`${report.replayed} events replayed`)
    if (report.leftToSweeper > 0) cli.out.note(leftToSweeper(report.leftToSweeper))
  }
  if (!report.stopped) return EXIT.ok
  throw new CommandError('stopped; call it again for the rest')
}
