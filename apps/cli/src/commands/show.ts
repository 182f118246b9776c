import { readEnv } from '@sume-inbox/shared/runtime'
import { EXIT } from '../cli.ts'
import type { Register } from '../run.ts'
import { databaseSettings } from '../settings.ts'
import { printIntent } from '../intents/print-intent.ts'
import { findAny } from '../show/find-event.ts'
import { printStory } from '../show/print-story.ts'
import { readStory } from '../show/read-story.ts'
import { withLedger } from '../with-ledger.ts'

const EXAMPLES = `
The id may be a dedupe key (with or without its run:), a job_id, a run_id, a request_id, or the idempotency key
of an intent.
Bodies carry prompts, so they are shown only when asked for.

Examples:
  $ sume show job_1f0c
  $ sume show req_77aa --payload
  $ sume show run_2b4d --json`

export const registerShow: Register = (program, cli, done) => {
  program
    .command('show')
    .summary('the story of an event, by any of its ids')
    .description(
      'Tell the story of an event: its intent, how it stands, its attempts, its replays.',
    )
    .argument('<id>', 'dedupe key, job_id, run_id, request_id or idempotency key')
    .option('--payload', 'also print the body')
    .option('--json', 'print one JSON document: the intent and its events')
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, options: { payload?: true; json?: true }) => {
      const config = readEnv(databaseSettings, cli.env)
      const { intent, stories } = await withLedger(config, async (ledger) => {
        const found = await findAny(ledger, id)
        const told = []
        for (const event of found.events)
          told.push(await readStory(ledger, event, options.payload === true))
        return { intent: found.intent, stories: told }
      })
      if (options.json === true) cli.out.json({ intent, events: stories })
      else {
        if (intent !== null) printIntent(intent, cli.out)
        for (const story of stories) printStory(story, cli.out)
        if (stories.length === 0) cli.out.line('no event has come of it yet')
      }
      done(EXIT.ok)
    })
}
