import { reserve } from '@sume-inbox/shared/intents'
import { readIntent } from '@sume-inbox/shared/ledger'
import { readEnv } from '@sume-inbox/shared/runtime'
import { InvalidArgumentError, Option } from 'commander'
import { CommandError, EXIT } from '../cli.ts'
import type { Register } from '../run.ts'
import { submitSettings } from '../settings.ts'
import { endOf, follow } from '../submit/follow.ts'
import { readRequest, type SubmitOptions } from '../submit/read-request.ts'
import { withLedger } from '../with-ledger.ts'

const EXAMPLES = `
Writes an intent; a worker with an API key sends it, once, whatever fails. The file is a JSON object: path and body,
and where you like key and kind. Without a key it is made of path and body, so the same command twice is one
submit, paid once; give --key to pay for the same again. SUME_WEBHOOK_URL is added to a body that has no mode and
no webhook_url.

Examples:
  $ sume submit ./order.json --wait
  $ sume submit --path /v1/image-router/generate --body '{"model":"sandbox/image","prompt":"a red fox"}'
  $ sume submit ./order.json --key order-4711 --wait 60
  $ generate-order | sume submit - --json`

const WAIT_SECONDS = 600

export const registerSubmit: Register = (program, cli, done) => {
  program
    .command('submit')
    .summary('pay for a job or run, once')
    .description('Reserve a paid submit, and with --wait watch it to the end of its follow-up.')
    .argument('[file]', 'a JSON file; - reads standard input')
    .option('--path <path>', "where on Sume's API")
    .option('--body <json>', 'what Sume is to make')
    .addOption(
      new Option('--kind <kind>', 'what it makes (default: by the path)').choices(['job', 'run']),
    )
    .option('--key <key>', 'the Idempotency-Key (default: made of path and body)')
    .option('--wait [seconds]', `watch it, ${WAIT_SECONDS} s at most unless told`, readSeconds)
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (file: string | undefined, options: SubmitOptions) => {
      const config = readEnv(submitSettings, cli.env)
      const request = await readRequest(cli, file, options)
      const told = await withLedger(config, async (ledger) => {
        const isNew = await reserve(ledger, request, { webhookUrl: config.SUME_WEBHOOK_URL })
        const { key } = request
        if (options.json !== true)
          cli.out.line(`${key}: ${isNew ? 'reserved' : 'there already; nothing more will be paid'}`)
        if (options.wait === undefined)
          return { key, new: isNew, intent: await readIntent(ledger, key), event: undefined }
        const progress = await follow(ledger, key, {
          untilMs: (options.wait === true ? WAIT_SECONDS : options.wait) * 1000,
          signal: cli.stoppable(),
          told: (step) => cli.out.note(step),
        })
        return { key, new: isNew, ...progress }
      })
      if (options.json === true) cli.out.json(told)
      if (told.event === undefined || told.intent === null) return done(EXIT.ok)
      const end = endOf({ intent: told.intent, event: told.event })
      if (end === null)
        throw new CommandError(
          `not waited for any longer; nothing is lost: sume show ${request.key} tells how it stands`,
        )
      done(end === 'good' ? EXIT.ok : EXIT.failed)
    })
}

function readSeconds(word: string): number {
  const seconds = Number(word)
  if (/^\d{1,6}$/.test(word) && seconds >= 1) return seconds
  throw new InvalidArgumentError(
    'Expected a whole number of seconds from 1 to 999999; a file goes before --wait.',
  )
}
