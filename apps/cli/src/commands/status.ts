import { readEnv } from '@sume-inbox/shared/runtime'
import { EXIT } from '../cli.ts'
import type { Register } from '../run.ts'
import { statusSettings } from '../settings.ts'
import { printStatus } from '../status/print-status.ts'
import { readQueue } from '../status/read-queue.ts'
import { readStatus } from '../status/read-status.ts'
import { withLedger } from '../with-ledger.ts'

const EXAMPLES = `
Examples:
  $ sume status
  $ sume status --json | jq '.counts'`

export const registerStatus: Register = (program, cli, done) => {
  program
    .command('status')
    .summary('what is in the ledger')
    .description(
      'Count the events by state and kind, tell the lag and the queue, and list what needs a look: the oldest claimed events and the dead ones, ERROR first.',
    )
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (options: { json?: true }) => {
      const config = readEnv(statusSettings, cli.env)
      const [ledger, queue] = await Promise.all([
        withLedger(config, readStatus),
        readQueue(config, cli.env),
      ])
      const status = { ...ledger, queue }
      if (options.json === true) cli.out.json(status)
      else printStatus(status, cli.out)
      done(EXIT.ok)
    })
}
