import { migrate, pendingMigrations } from '@sume-inbox/shared/ledger'
import { readEnv } from '@sume-inbox/shared/runtime'
import { EXIT } from '../cli.ts'
import type { Register } from '../run.ts'
import { databaseSettings } from '../settings.ts'

const EXAMPLES = `
Any number of processes may call it at once. Forward only; a half-applied migration is applied again.

Examples:
  $ sume migrate                apply what is missing
  $ sume migrate --dry-run      only name it`

export const registerMigrate: Register = (program, cli, done) => {
  program
    .command('migrate')
    .summary("bring the ledger's tables to this version")
    .description(
      "Bring the ledger's tables to this version. Other processes never do this by themselves.",
    )
    .option('--dry-run', 'print the migrations that are missing, and change nothing')
    .addHelpText('after', EXAMPLES)
    .action(async (options: { dryRun?: true }) => {
      const config = readEnv(databaseSettings, cli.env)
      const { DATABASE_URL: url, DATABASE_TIMEOUT_MS: timeoutMs } = config
      const dry = options.dryRun === true
      const names = dry ? await pendingMigrations(url, timeoutMs) : await migrate(url, timeoutMs)
      if (names.length === 0) cli.out.line('already up to date')
      for (const name of names) cli.out.line(`${dry ? 'pending' : 'applied'} ${name}`)
      done(EXIT.ok)
    })
}
