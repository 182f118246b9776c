import { listQuarantine, type Ledger, readQuarantined } from '@sume-inbox/shared/ledger'
import { releaseMany, type Released } from '@sume-inbox/shared/operator'
import { readEnv } from '@sume-inbox/shared/runtime'
import { InvalidArgumentError } from 'commander'
import { CommandError, EXIT } from '../cli.ts'
import { leftToSweeper, operate, reviverOf } from '../operate.ts'
import type { Register } from '../run.ts'
import { databaseSettings } from '../settings.ts'
import { table } from '../table.ts'
import { withLedger } from '../with-ledger.ts'

const EXAMPLES = `
Signed bodies that could not be read as an event. Each is named by the SHA-256 of its bytes; four digits or
more of its beginning are enough. Bodies carry prompts, so they are shown only when asked for. The quarantine
keeps at most QUARANTINE_MAX_ROWS of them, those seen last.

Examples:
  $ sume quarantine list
  $ sume quarantine show 3fa2 --body
  $ sume quarantine replay 3fa2            read it again, by the rules of this version
  $ sume quarantine replay --all`

const LISTED = 100
const ALL = 1_000_000
const SHOWN = 12

interface Options {
  readonly json?: true
  readonly body?: true
  readonly all?: true
  readonly reason?: string
  readonly limit?: number
  readonly why?: string
  readonly by?: string
}

export const registerQuarantine: Register = (program, cli, done) => {
  const quarantine = program
    .command('quarantine')
    .summary('signed bodies that are no events to us')
    .description('List, show and replay signed bodies that could not be read as an event.')
    .addHelpText('after', EXAMPLES)

  quarantine
    .command('list')
    .description('List the bodies in quarantine, those seen last first.')
    .option('--reason <reason>', 'only those with this reason')
    .option('--limit <n>', 'at most so many', readLimit, LISTED)
    .option('--json', 'print one JSON document')
    .action(async ({ reason, limit = LISTED, json }: Options) => {
      const bodies = await withLedger(readEnv(databaseSettings, cli.env), (ledger) =>
        listQuarantine(ledger, { limit, ...(reason === undefined ? {} : { reason }) }),
      )
      if (json === true) cli.out.json(bodies)
      else if (bodies.length === 0) cli.out.line('nothing in quarantine')
      else {
        if (bodies.length === limit) cli.out.note(`the latest ${limit}; --limit shows more`)
        cli.out.line(
          table(
            ['body', 'reason', 'bytes', 'deliveries', 'first seen', 'last seen'],
            bodies.map((body) => [
              body.sha256.slice(0, SHOWN),
              body.reason,
              body.bytes,
              body.count,
              body.first_seen.toISOString(),
              body.last_seen.toISOString(),
            ]),
          ),
        )
      }
      done(EXIT.ok)
    })

  quarantine
    .command('show')
    .description('Show one body: its reason, size and times, and with --body its bytes.')
    .argument('<body>', 'the beginning of its SHA-256', readName)
    .option('--body', 'also print the body')
    .option('--json', 'print one JSON document; the body in base64')
    .action(async (name: string, { body, json }: Options) => {
      const found = await withLedger(readEnv(databaseSettings, cli.env), (ledger) =>
        findOne(ledger, name),
      )
      const { body: bytes, ...about } = found
      if (json === true)
        cli.out.json({ ...about, ...(body === true ? { body: bytes.toString('base64') } : {}) })
      else {
        for (const [label, value] of Object.entries(about)) {
          const text = value instanceof Date ? value.toISOString() : String(value)
          cli.out.line(`${label.padEnd(10)} ${text}`)
        }
        if (body === true) cli.out.line(`\n${bytes.toString('utf8')}`)
      }
      done(EXIT.ok)
    })

  quarantine
    .command('replay')
    .description('Read bodies again: those that are events by now enter the ledger and the queue.')
    .argument('[bodies...]', 'the beginning of the SHA-256 of each')
    .option('--all', 'every body in quarantine')
    .option('--reason <reason>', 'with --all: only those with this reason')
    .option('--why <text>', 'the reason, for the story')
    .option('--by <name>', 'who does it (default: your account here)')
    .option('--json', 'print one JSON document')
    .action(async (names: string[], options: Options) => {
      if (names.length > 0 === (options.all === true))
        throw new CommandError('expected bodies, or --all')
      if (options.reason !== undefined && options.all !== true)
        throw new CommandError('--reason goes with --all, not with bodies')
      const told: Released[] = []
      const report = await operate(cli, async (deps) => {
        const bodies = options.all === true ? await all(deps.ledger, options.reason) : []
        for (const name of names) bodies.push((await findOne(deps.ledger, readName(name))).sha256)
        return releaseMany(deps, bodies, {
          reviver: reviverOf(cli, options),
          signal: cli.stoppable(),
          told: (released) => {
            told.push(released)
            if (options.json !== true) cli.out.line(lineOf(released))
          },
        })
      })
      if (options.json === true) cli.out.json({ ...report, bodies: told })
      else cli.out.line(`${report.released} entered, ${report.stayed} stayed`)
      if (report.stopped) throw new CommandError('stopped; call it again for the rest')
      done(report.stayed === 0 || options.all === true ? EXIT.ok : EXIT.failed)
    })
}

const all = async (ledger: Ledger, reason: string | undefined): Promise<string[]> =>
  (await listQuarantine(ledger, { limit: ALL, ...(reason === undefined ? {} : { reason }) })).map(
    ({ sha256 }) => sha256,
  )

const lineOf = (released: Released): string => {
  const name = released.sha256.slice(0, SHOWN)
  if (!released.released) return `${name}: stayed, ${released.because}`
  const { dedupeKey } = released.envelope
  if (!released.first) return `${name}: ${dedupeKey}, counted as a duplicate`
  return `${name}: ${dedupeKey}, accepted${released.enqueued ? '' : `; ${leftToSweeper(1)}`}`
}

function readName(text: string): string {
  if (!/^[0-9a-f]{4,64}$/i.test(text))
    throw new InvalidArgumentError(
      'expected 4 to 64 hex digits, as sume quarantine list shows them',
    )
  return text.toLowerCase()
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (!/^\d{1,6}$/.test(text) || limit < 1)
    throw new InvalidArgumentError('expected a whole number from 1 to 999999')
  return limit
}

async function findOne(ledger: Ledger, name: string) {
  const [found, another] = await readQuarantined(ledger, name)
  if (found === undefined) throw new CommandError(`no body in quarantine begins with ${name}`)
  if (another !== undefined)
    throw new CommandError(`more than one body begins with ${name}; give more digits`)
  return found
}
