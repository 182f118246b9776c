import { countDue, leaseDue, stillClaimed } from '@sume-inbox/shared/ledger'
import { type Lost, openRestorer } from '@sume-inbox/shared/queues'
import { readEnv } from '@sume-inbox/shared/runtime'
import { CommandError, EXIT } from '../cli.ts'
import { redisTrouble } from '../explain.ts'
import { openProgress } from '../progress.ts'
import type { Register } from '../run.ts'
import { sweepSettings } from '../settings.ts'
import { withLedger } from '../with-ledger.ts'

const BATCH = 100

const WHY: Readonly<Record<Lost, string>> = {
  missing: 'the queue did not know it',
  failed: 'the queue had given it up',
  completed: 'the queue thought that it was finished',
  orphan: 'its job was in no list of the queue',
}

const EXAMPLES = `
Takes the claimed events whose time has passed, ERROR first, and puts those back that the queue has lost.
Workers do the same every SWEEP_EVERY_MS; it may be called beside them. An event that waits, is delayed or
runs is left alone.

Examples:
  $ sume sweep
  $ sume sweep --json`

export const registerSweep: Register = (program, cli, done) => {
  program
    .command('sweep')
    .summary('put back what the queue has lost, now')
    .description('Run one sweep: put back what the queue has lost, and say why.')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (options: { json?: true }) => {
      const config = readEnv(sweepSettings, cli.env)
      const restorer = openRestorer({
        redisUrl: config.REDIS_URL,
        prefix: config.QUEUE_PREFIX,
        maxAttempts: config.MAX_ATTEMPTS,
        // The failed command tells it.
        onError: () => undefined,
      })
      const swept: { due: number; restored: { dedupeKey: string; lost: Lost }[] } = {
        due: 0,
        restored: [],
      }
      const stopping = cli.stoppable()
      const progress = openProgress(cli.out)
      const tell = () => {
        if (options.json === true) return cli.out.json(swept)
        for (const { dedupeKey, lost } of swept.restored)
          cli.out.line(`put back ${dedupeKey}: ${WHY[lost]}`)
        return cli.out.line(`${swept.due} due, ${swept.restored.length} put back`)
      }
      try {
        await withLedger(config, async (ledger) => {
          // What is swept is due again some time later: in a long sweep before the last one's turn. Once each is enough.
          const { due: total } = await countDue(ledger)
          let taken: number
          do {
            const due = await leaseDue(ledger, BATCH, config.SWEEP_EVERY_MS)
            const events = due.map(({ dedupe_key: dedupeKey, status }) => ({ dedupeKey, status }))
            let ofMysql: unknown
            const still = (keys: readonly string[]) =>
              stillClaimed(ledger, keys).catch((error: unknown) => {
                ofMysql = error
                throw error
              })
            const restored = await restorer.restore(events, still).catch((error: unknown) => {
              if (swept.due > 0) tell()
              if (error === ofMysql) throw error
              throw new CommandError(
                `${redisTrouble(error, cli.env)}. Nothing is lost: what was due comes round again`,
              )
            })
            taken = due.length
            swept.due += taken
            swept.restored.push(...restored)
            progress(() => `${swept.due} of ${total}`)
          } while (taken === BATCH && swept.due < total && !stopping.aborted)
        })
      } finally {
        await restorer.close()
      }
      tell()
      if (stopping.aborted) throw new CommandError('stopped; call it again for the rest')
      done(EXIT.ok)
    })
}
