import {
  adoptIntent,
  type IntentState,
  listEventsWithoutIntent,
  listIntents,
  listIntentsWithoutEvent,
  readIntentBody,
  retryIntent,
} from '@sume-inbox/shared/ledger'
import { isSumeId } from '@sume-inbox/shared/intents'
import { readEnv } from '@sume-inbox/shared/runtime'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Cli, CommandError, EXIT, type ExitCode } from '../cli.ts'
import { findIntent } from '../intents/find-intent.ts'
import { intentTable, printIntent } from '../intents/print-intent.ts'
import type { Register } from '../run.ts'
import { databaseSettings } from '../settings.ts'
import { table } from '../table.ts'
import { withLedger } from '../with-ledger.ts'

const EXAMPLES = `
An intent is the record of a paid submit, written before its call. Its id is the idempotency key; once Sume has
answered, the job_id or run_id names it too. Bodies carry prompts, so they are shown only when asked for.

Examples:
  $ sume intents list --state rejected
  $ sume intents list --without-event         submitted, and nothing has come of it yet
  $ sume intents list --events                the other way round: events that no intent is behind
  $ sume intents show order-4711
  $ sume intents adopt job_1f0c               look after a job that was submitted elsewhere
  $ sume intents retry order-4711             a rejected one, with the same key and bytes`

const STATES: readonly IntentState[] = [
  'pending',
  'submitted',
  'settled',
  'conflict',
  'rejected',
  'lost',
]
const LISTED = 100
/** Longer than any statement of a receiver may take: a webhook that is being written is there by then. */
const ADOPT_AFTER_MS = 10_000

interface ListOptions {
  readonly state?: IntentState
  readonly withoutEvent?: true
  readonly events?: true
  readonly limit?: number
  readonly json?: true
}

export const registerIntents: Register = (program, cli, done) => {
  const intents = program
    .command('intents')
    .summary('the records of paid submits')
    .description('List, show, adopt and retry the records of paid submits.')
    .addHelpText('after', EXAMPLES)
  registerList(intents, cli, done)
  registerShow(intents, cli, done)
  registerAdopt(intents, cli, done)
  registerRetry(intents, cli, done)
}

type Done = (code: ExitCode) => void

function registerList(intents: Command, cli: Cli, done: Done): void {
  intents
    .command('list')
    .description('List intents, the latest first.')
    .addOption(new Option('--state <state>', 'only those in this state').choices(STATES))
    .option('--without-event', 'only those that Sume has and that have no event, the oldest first')
    .option('--events', 'list the events that no intent is behind instead, the latest first')
    .option('--limit <n>', 'at most so many', readLimit, LISTED)
    .option('--json', 'print one JSON document')
    .action(async (options: ListOptions) => {
      const ways = [options.state, options.withoutEvent, options.events]
      if (ways.filter((way) => way !== undefined).length > 1)
        throw new CommandError('expected at most one of --state, --without-event and --events')
      const { limit = LISTED, state, json } = options
      const config = readEnv(databaseSettings, cli.env)
      if (options.events === true) {
        const events = await withLedger(config, (db) => listEventsWithoutIntent(db, limit))
        if (json === true) cli.out.json(events)
        else if (events.length === 0) cli.out.line('every event has its intent')
        else
          cli.out.line(
            table(
              ['dedupe key', 'event', 'sume id', 'first seen'],
              events.map((e) => [e.dedupe_key, e.event, e.sume_id, e.first_seen.toISOString()]),
            ),
          )
      } else {
        const found = await withLedger(config, (db) =>
          options.withoutEvent === true
            ? listIntentsWithoutEvent(db, limit)
            : listIntents(db, { limit, ...(state === undefined ? {} : { state }) }),
        )
        if (json === true) cli.out.json(found)
        else cli.out.line(found.length === 0 ? 'no such intent' : intentTable(found))
      }
      done(EXIT.ok)
    })
}

function registerShow(intents: Command, cli: Cli, done: Done): void {
  intents
    .command('show')
    .description('Show one intent, and with --body what is sent.')
    .argument('<id>', 'idempotency key, job_id or run_id')
    .option('--body', 'also print the body')
    .option('--json', 'print one JSON document')
    .action(async (id: string, options: { body?: true; json?: true }) => {
      const { intent, body } = await withLedger(readEnv(databaseSettings, cli.env), async (db) => {
        const found = await findIntent(db, id)
        const text = options.body === true ? await readIntentBody(db, found.idempotency_key) : null
        return { intent: found, body: text }
      })
      if (options.json === true) cli.out.json(body === null ? intent : { ...intent, body })
      else {
        printIntent(intent, cli.out)
        if (body !== null) cli.out.line(body)
      }
      done(EXIT.ok)
    })
}

function registerAdopt(intents: Command, cli: Cli, done: Done): void {
  intents
    .command('adopt')
    .description('Look after a job or run that was submitted elsewhere, as if it were an intent.')
    .argument('<sume-id>', 'job_id or run_id')
    .addOption(
      new Option('--kind <kind>', 'what it is (default: by run_ at its beginning)').choices([
        'job',
        'run',
      ]),
    )
    .option('--json', 'print one JSON document')
    .action(async (sumeId: string, options: { kind?: 'job' | 'run'; json?: true }) => {
      if (!isSumeId(sumeId))
        throw new CommandError('expected a job_id or run_id, of 1 to 64 printable ASCII characters')
      const kind = options.kind ?? (sumeId.startsWith('run_') ? 'run' : 'job')
      const key = `adopted:${sumeId}`
      const { isNew, intent } = await withLedger(
        readEnv(databaseSettings, cli.env),
        async (db) => ({
          isNew: await adoptIntent(db, { key, kind, sumeId, pollAfterMs: ADOPT_AFTER_MS }),
          intent: await findIntent(db, sumeId),
        }),
      )
      if (options.json === true) cli.out.json({ new: isNew, intent })
      else {
        if (!isNew) cli.out.note('it has an intent already; nothing was changed')
        printIntent(intent, cli.out)
      }
      done(EXIT.ok)
    })
}

function registerRetry(intents: Command, cli: Cli, done: Done): void {
  intents
    .command('retry')
    .description('Have rejected intents sent again, with the same keys and bytes.')
    .argument('<ids...>', 'idempotency key of each')
    .option('--json', 'print one JSON document')
    .action(async (ids: string[], options: { json?: true }) => {
      const told = await withLedger(readEnv(databaseSettings, cli.env), async (db) => {
        // All are looked up before any is sent: a typing error in the last must not leave half of it done.
        const found = []
        for (const id of ids) found.push(await findIntent(db, id))
        const retried = []
        for (const { idempotency_key: key, state } of found)
          retried.push({ key, retried: await retryIntent(db, key), state })
        return retried
      })
      if (options.json === true) cli.out.json(told)
      else
        for (const { key, retried, state } of told)
          cli.out.line(
            `${key}: ${retried ? 'will be sent again' : `not retried: it is ${state}, not rejected`}`,
          )
      done(told.every(({ retried }) => retried) ? EXIT.ok : EXIT.failed)
    })
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (!/^\d{1,6}$/.test(text) || limit < 1)
    throw new InvalidArgumentError('expected a whole number from 1 to 999999')
  return limit
}
