import { systemClock } from '@sume-inbox/shared/runtime'
import { EXIT } from '../cli.ts'
import { checkDatabase } from '../doctor/check-database.ts'
import { checkRedis } from '../doctor/check-redis.ts'
import { checkSettings, type Settings } from '../doctor/check-settings.ts'
import type { Finding } from '../doctor/finding.ts'
import type { Register } from '../run.ts'

const EXAMPLES = `
Checks the settings, MySQL (version, session, size of packets, migrations, clock), Redis (version, eviction,
append-only file) and FOLLOW_UPS. Changes nothing. Exit code 1 when something fails.

Examples:
  $ sume doctor
  $ sume doctor --json`

export const registerDoctor: Register = (program, cli, done) => {
  program
    .command('doctor')
    .summary('check settings and servers')
    .description('Check settings and servers, and say what to mend.')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (options: { json?: true }) => {
      const { settings, findings } = await checkSettings(cli.env, cli.cwd)
      if (isComplete(settings))
        findings.push(...(await checkDatabase(settings, cli.env, systemClock)))
      if (settings.REDIS_URL !== undefined)
        findings.push(...(await checkRedis(settings.REDIS_URL, cli.env)))
      if (options.json === true) cli.out.json(findings)
      else for (const finding of findings) cli.out.line(lineOf(finding))
      done(findings.some(({ level }) => level === 'fail') ? EXIT.failed : EXIT.ok)
    })
}

/** Without a usable address and limits there is nothing to measure the database by; the setting's own line says so. */
const isComplete = (settings: Settings): settings is Required<Settings> =>
  settings.DATABASE_URL !== undefined &&
  settings.DATABASE_TIMEOUT_MS !== undefined &&
  settings.BODY_LIMIT_BYTES !== undefined &&
  settings.SUME_WEBHOOK_TOLERANCE_SECONDS !== undefined

const lineOf = (finding: Finding): string =>
  finding.level === 'ok'
    ? `ok    ${finding.what}`
    : `${finding.level}  ${finding.what}\n      ${finding.fix}`
