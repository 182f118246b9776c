import { randomInt } from 'node:crypto'
import { Command, InvalidArgumentError, Option } from 'commander'
import { reportLines } from './report.ts'
import { soak } from './soak.ts'

const LEAST_EVERY_S = 1

const wholeNumber = (text: string): number => {
  const number = Number(text)
  if (!/^\d+$/u.test(text) || number < 1 || !Number.isSafeInteger(number))
    throw new InvalidArgumentError('It must be a whole number from 1 on.')
  return number
}
const seconds = (text: string): number => {
  const number = Number(text)
  if (!(number >= LEAST_EVERY_S && number <= 3600))
    throw new InvalidArgumentError(`It must be a number from ${LEAST_EVERY_S} to 3600.`)
  return number
}
const say = (line: string) => void process.stdout.write(`${line}\n`)

interface Options {
  events: number
  seed: string
  everySeconds: number
  perSecond: number
  source: 'webhooks' | 'intents'
}

const program = new Command('chaos')
  .description(
    'Sends events while receivers, workers, Redis and MySQL are killed, frozen and cut off in turn; then mends everything and checks that nothing was lost and nothing done twice. On servers of its own.',
  )
  .option(
    '--events <n>',
    'how many events, at least; and as many as it takes for one fault of each kind',
    wholeNumber,
    2000,
  )
  .option(
    '--seed <text>',
    'decides which fault comes when; the same seed gives the same plan (default: a new one)',
  )
  .option('--every-seconds <n>', 'a fault so often', seconds, 5)
  .option('--per-second <n>', 'events a second', wholeNumber, 50)
  .addOption(
    new Option('--source <name>', 'where events come from: webhooks, or paid submits to a sandbox')
      .choices(['webhooks', 'intents'])
      .default('webhooks'),
  )
  .addHelpText(
    'after',
    '\nCtrl-C ends the load and checks what there is; a second one leaves at once.\nExit code 0 when every promise was kept, 1 when not.',
  )
  .action(async (options: Options) => {
    const stopping = new AbortController()
    // Not `once`: libraries beside us end the process at a signal that nobody else listens to any more.
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => (stopping.signal.aborted ? process.exit(130) : stopping.abort()))
    const seed = options.seed ?? String(randomInt(2 ** 32))
    say(`seed ${seed}`)
    const report = await soak({
      events: options.events,
      seed,
      everyMs: options.everySeconds * 1000,
      perSecond: options.perSecond,
      source: options.source,
      signal: stopping.signal,
      say,
    })
    for (const line of reportLines(report)) say(line)
    process.exitCode = report.wrong.length === 0 ? 0 : 1
  })

await program.parseAsync()
