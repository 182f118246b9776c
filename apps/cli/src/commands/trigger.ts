import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type Env, readEnv, systemClock } from '@sume-inbox/shared/runtime'
import { Option } from 'commander'
import { type Cli, CommandError, EXIT } from '../cli.ts'
import type { Register } from '../run.ts'
import { headerSettings, secretSettings } from '../settings.ts'
import { EVENTS, type SumeEvent, webhookBody } from '../trigger/body.ts'
import { deliverOnce, type Delivered, type Signing } from '../trigger/deliver.ts'
import {
  readEvent,
  readTarget,
  readTimes,
  refuseIdle,
  type TriggerOptions,
} from '../trigger/options.ts'
import { aboutBody } from '../trigger/about-body.ts'

const DEFAULT_TARGET = 'http://127.0.0.1:8080/webhooks/sume'

const EXAMPLES = `
Events: ${EVENTS.join(', ')}.
Signed with the first of SUME_WEBHOOK_SECRETS, in the headers that SUME_SIGNATURE_HEADER and
SUME_TIMESTAMP_HEADER name. Exit code 0 when every answer is a 2xx.

Examples:
  $ sume trigger job.completed
  $ sume trigger job.failed --job-id job_1 --times 3        one event, delivered three times
  $ sume trigger run.completed --run-id run_1 --request-id req_1
  $ sume trigger job.completed --to https://inbox.example.com/webhooks/sume --secret-file ./secret
  $ sume trigger --body ./body.json                         these bytes as they are`

export const registerTrigger: Register = (program, cli, done) => {
  program
    .command('trigger')
    .summary('send a signed delivery, as Sume would')
    .description('Send a signed delivery to a receiver, as Sume would, and print its answer.')
    .argument('[event]', 'what Sume reports', readEvent)
    .option(
      '--to <url>',
      `the receiver (default: SUME_WEBHOOK_URL where that is on this machine, else ${DEFAULT_TARGET})`,
      readTarget,
    )
    .option('--job-id <id>', "the job's id (default: a new one)")
    .option('--run-id <id>', "the run's id (default: a new one)")
    .option('--request-id <id>', "the request id (default: a job's id; for a run a new one)")
    .addOption(
      new Option('--status <status>', 'another status than the event has').choices(['OK', 'ERROR']),
    )
    .option('--body <file>', 'send these bytes instead; - reads standard input')
    .option('--times <n>', 'deliver it so many times, one after the other', readTimes, 1)
    .option('--secret-file <file>', 'sign with the secret in this file')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (event: SumeEvent | undefined, options: TriggerOptions) => {
      refuseIdle(event, options)
      const signing = await readSigning(cli, options.secretFile)
      const body = await readBody(cli, event, options)
      const to = options.to ?? localReceiver(cli.env)
      const about = aboutBody(body)
      if (options.json !== true) cli.out.line(`${about.text} to ${to}`)
      const deliveries: Delivered[] = []
      for (let n = 1; n <= options.times; n++) {
        const delivered = await deliverOnce(to, body, signing, systemClock)
        deliveries.push(delivered)
        if (options.json !== true) cli.out.line(lineOf(delivered))
      }
      if (options.json === true) cli.out.json({ to, ...about.fields, deliveries })
      done(deliveries.every(({ ok }) => ok) ? EXIT.ok : EXIT.failed)
    })
}

/** `pnpm dev` tells its receiver's address by SUME_WEBHOOK_URL. A public one is never met by accident. */
function localReceiver(env: Env): string {
  const url = URL.parse(env['SUME_WEBHOOK_URL'] ?? '')
  const isHere = url !== null && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
  return isHere ? url.href : DEFAULT_TARGET
}

async function readSigning(cli: Cli, secretFile: string | undefined): Promise<Signing> {
  const headers = readEnv(headerSettings, cli.env)
  const secret =
    secretFile === undefined
      ? readEnv(secretSettings, cli.env).SUME_WEBHOOK_SECRETS[0]
      : (await readGiven(cli, '--secret-file', secretFile)).toString().trim()
  if (!secret) throw new CommandError('--secret-file: the file is empty')
  return {
    secret,
    signatureHeader: headers.SUME_SIGNATURE_HEADER,
    timestampHeader: headers.SUME_TIMESTAMP_HEADER,
  }
}

async function readBody(
  cli: Cli,
  event: SumeEvent | undefined,
  options: TriggerOptions,
): Promise<Buffer> {
  if (options.body === '-') return buffer(cli.stdin)
  if (options.body !== undefined) return readGiven(cli, '--body', options.body)
  if (event === undefined) throw new CommandError('expected an event or --body')
  return webhookBody(event, options, options.status)
}

const readGiven = (cli: Cli, option: string, path: string): Promise<Buffer> =>
  readFile(resolve(cli.cwd, path)).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${option}: ${path} cannot be read (${error.code})`)
  })

const MAX_ANSWER = 300

const lineOf = (delivered: Delivered): string =>
  'error' in delivered
    ? `not delivered: ${delivered.error}`
    : `${delivered.status}  ${delivered.answer.slice(0, MAX_ANSWER)}  ${delivered.ms} ms`
