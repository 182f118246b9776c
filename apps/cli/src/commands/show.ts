import { readEnv } from '@sume-inbox/shared/runtime'
import { EXIT } from '../cli.ts'
import type { Register } from '../run.ts'
import { databaseSettings } from '../settings.ts'
import { findEvent } from '../show/find-event.ts'
import { printStory } from '../show/print-story.ts'
import { readStory } from '../show/read-story.ts'
import { withLedger } from '../with-ledger.ts'

const EXAMPLES = `
The id may be a dedupe key (with or without its run:), a job_id, a run_id or a request_id.
Bodies carry prompts, so they are shown only when asked for.

Examples:
  $ sume show job_1f0c
  $ sume show req_77aa --payload
  $ sume show run_2b4d --json`

export const registerShow: Register = (program, cli, done) => {
  program
    .command('show')
    .summary('the story of an event')
    .description('Tell the story of an event: how it stands, its attempts, its replays.')
    .argument('<id>', 'dedupe key, job_id, run_id or request_id')
    .option('--payload', 'also print the body')
    .option('--json', 'print one JSON document: a list of events')
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, options: { payload?: true; json?: true }) => {
      const config = readEnv(databaseSettings, cli.env)
      const stories = await withLedger(config, async (ledger) => {
        const told = []
        for (const event of await findEvent(ledger, id))
          told.push(await readStory(ledger, event, options.payload === true))
        return told
      })
      if (options.json === true) cli.out.json(stories)
      else for (const story of stories) printStory(story, cli.out)
      done(EXIT.ok)
    })
}
