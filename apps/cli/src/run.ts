import { Command, CommanderError } from 'commander'
import { type Cli, EXIT, type ExitCode } from './cli.ts'
import { registerDoctor } from './commands/doctor.ts'
import { registerIntents } from './commands/intents.ts'
import { registerMigrate } from './commands/migrate.ts'
import { registerQuarantine } from './commands/quarantine.ts'
import { registerReconcile } from './commands/reconcile.ts'
import { registerReplay } from './commands/replay.ts'
import { registerShow } from './commands/show.ts'
import { registerStatus } from './commands/status.ts'
import { registerSubmit } from './commands/submit.ts'
import { registerSweep } from './commands/sweep.ts'
import { registerTrigger } from './commands/trigger.ts'
import { explain } from './explain.ts'

/** Adds a command to the program. `done` takes the command's exit code; a thrown error is explained. */
export type Register = (program: Command, cli: Cli, done: (code: ExitCode) => void) => void

const COMMANDS: readonly Register[] = [
  registerMigrate,
  registerDoctor,
  registerStatus,
  registerShow,
  registerSweep,
  registerReplay,
  registerQuarantine,
  registerSubmit,
  registerIntents,
  registerReconcile,
  registerTrigger,
]

const EXAMPLES = `
Settings come from the environment (see .env.example). Exit codes: 0 done, 1 wrong use or it failed, 2 settings.

Examples:
  $ sume migrate                      make the tables, or bring them to this version
  $ sume doctor                       check settings and servers
  $ sume status                       what is in the ledger, ERROR first
  $ sume show job_1f0c                the story of one event
  $ sume replay --dead --yes          run the dead events again
  $ sume submit ./order.json --wait    pay for one job, once, and wait for its follow-up
  $ sume trigger job.completed        send one signed delivery to the receiver here`

/** Runs one command line. Never throws. */
export async function run(args: readonly string[], cli: Cli): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok
  const program = buildProgram(cli, (done) => {
    code = done
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    // Commander has said what it has to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.failed
    const explained = explain(error, cli.env)
    cli.out.note(explained.text)
    return explained.code
  }
}

function buildProgram(cli: Cli, done: (code: ExitCode) => void): Command {
  const program = new Command('sume')
    .description('The command line of sume-inbox.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => cli.out.line(text.trimEnd()),
      writeErr: (text) => cli.out.note(text.trimEnd()),
    })
    .showSuggestionAfterError()
    .addHelpText('after', EXAMPLES)
  for (const register of COMMANDS) register(program, cli, done)
  // Subcommands copy these settings when they are made; what was expected is in the help of each.
  for (const command of program.commands) {
    command.showHelpAfterError(`(sume ${command.name()} --help says what is expected)`)
    for (const sub of command.commands)
      sub.showHelpAfterError(`(sume ${command.name()} ${sub.name()} --help says what is expected)`)
  }
  const names = program.commands.map((command) => command.name()).join(', ')
  program.showHelpAfterError(`Commands: ${names}. (sume --help says more)`)
  return program
}
