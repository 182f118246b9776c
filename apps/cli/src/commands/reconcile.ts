import { reconcileDue, type Reconciled } from '@sume-inbox/shared/intents'
import { hastenIntent } from '@sume-inbox/shared/ledger'
import { enqueueNow } from '@sume-inbox/shared/operator'
import { makeRate, readEnv } from '@sume-inbox/shared/runtime'
import { makeSumeClient } from '@sume-inbox/shared/sume'
import { CommandError, EXIT } from '../cli.ts'
import { findIntent } from '../intents/find-intent.ts'
import { leftToSweeper, operate } from '../operate.ts'
import type { Register } from '../run.ts'
import { reconcileSettings } from '../settings.ts'

const EXAMPLES = `
Asks Sume about the submitted intents whose time has come and that have no event. Workers do the same all the time;
it may be called beside them. Those that are named are asked about now, whatever their schedule says, lost ones too.

Examples:
  $ sume reconcile
  $ sume reconcile order-4711 job_1f0c
  $ sume reconcile --json`

const BATCH = 10

export const registerReconcile: Register = (program, cli, done) => {
  program
    .command('reconcile')
    .summary('ask Sume about intents without an event, now')
    .description('Ask Sume about submitted intents whose event has not come.')
    .argument('[ids...]', 'idempotency key, job_id or run_id of each (default: those that are due)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (ids: string[], options: { json?: true }) => {
      const config = readEnv(reconcileSettings, cli.env)
      const client = makeSumeClient({
        url: config.SUME_API_URL,
        key: config.SUME_API_KEY,
        auth: config.SUME_API_AUTH,
        jobPath: config.SUME_JOB_PATH,
        runPath: config.SUME_RUN_PATH,
      })
      const told: Reconciled[] = []
      let left = 0
      const report = await operate(cli, async (deps) => {
        const named = []
        for (const id of ids) named.push(await findIntent(deps.ledger, id))
        for (const { idempotency_key: key, state } of named) {
          if (!(await hastenIntent(deps.ledger, key)))
            cli.out.note(`${key}: not asked about: it is ${state}`)
        }
        return reconcileDue(
          {
            ledger: deps.ledger,
            client,
            rate: makeRate(config.RECONCILE_PER_SECOND),
            enqueue: async (event) => {
              if (!(await enqueueNow(deps, [event]))) left++
            },
            told: (reconciled) => {
              told.push(reconciled)
              if (options.json !== true) cli.out.line(lineOf(reconciled))
            },
          },
          {
            batch: BATCH,
            afterMs: config.RECONCILE_AFTER_MS,
            horizonMs: config.RECONCILE_HORIZON_MS,
            graceMs: config.ENQUEUE_GRACE_MS,
          },
          cli.stoppable(),
        )
      })
      if (options.json === true) cli.out.json({ ...report, intents: told })
      else {
        cli.out.line(
          `${report.asked} asked about, ${report.first} ended without a webhook, ${report.settled} had their event, ${report.lost} lost`,
        )
        if (left > 0) cli.out.note(leftToSweeper(left))
      }
      if (told.some(({ outcome }) => outcome === 'away'))
        throw new CommandError('Sume cannot be asked now; the rest stays due')
      done(EXIT.ok)
    })
}

function lineOf({ key, sumeId, outcome, event, error }: Reconciled): string {
  const about = `${key} (${sumeId})`
  switch (outcome) {
    case 'first':
      return `${about}: ${event}; no webhook had come`
    case 'duplicate':
      return `${about}: ${event}; its webhook came meanwhile`
    case 'open':
      return `${about}: not ended${error === undefined ? '' : `; ${error}`}`
    case 'away':
      return `${about}: ${error}`
    case 'lost':
      return `${about}: lost; ${error}`
  }
}
