import { IntentProblem } from '@sume-inbox/shared/intents'
import { isUnavailable, LedgerError } from '@sume-inbox/shared/ledger'
import {
  ConfigError,
  DeadlineError,
  type Env,
  errorText,
  toError,
} from '@sume-inbox/shared/runtime'
import { CommandError, EXIT, type ExitCode } from './cli.ts'

/** What a failed command tells: what failed and what to do, without a stack and without a secret. */
export function explain(thrown: unknown, env: Env): { text: string; code: ExitCode } {
  if (thrown instanceof ConfigError) return { text: thrown.message, code: EXIT.config }
  const failed = (text: string) => ({ text: withoutSecrets(text, env), code: EXIT.failed })
  if (
    thrown instanceof LedgerError ||
    thrown instanceof CommandError ||
    thrown instanceof IntentProblem
  )
    return failed(thrown.message)
  if (isUnavailable(thrown)) return failed(databaseTrouble(thrown, env))
  return failed(`failed: ${errorText(thrown)}`)
}

/** Why MySQL did not do it, and what to do about it. */
export function databaseTrouble(thrown: unknown, env: Env): string {
  const where = `MySQL at ${serverOf(env['DATABASE_URL'])}`
  if (thrown instanceof DeadlineError) {
    return `${where} did not answer in time (${thrown.message}); see whether it is frozen or busy, or raise DATABASE_TIMEOUT_MS`
  }
  const { errno, code } = toError(thrown) as { errno?: number; code?: string }
  if (errno === 1044 || errno === 1045)
    return `${where} refuses this user; check user, password and grants of DATABASE_URL`
  if (errno === 1049)
    return `${where} has no database of that name; make it (CREATE DATABASE …), then run: sume migrate`
  if (errno === 1054 || errno === 1146) return `${where} is not migrated; run: sume migrate`
  if (errno === 1205)
    return `${where}: a row is locked by another transaction; call it again, and where it stays so see SHOW ENGINE INNODB STATUS`
  return `${where} cannot do it now (${code ?? toError(thrown).name}); check that it runs and that DATABASE_URL names it`
}

/** Why Redis did not do it, and what to do about it. */
export function redisTrouble(thrown: unknown, env: Env): string {
  const where = `Redis at ${serverOf(env['REDIS_URL'])}`
  const error = toError(thrown)
  if (/WRONGPASS|NOAUTH|NOPERM/.test(error.message)) {
    return `${where} refuses this user; check the password in REDIS_URL`
  }
  const { code } = error as { code?: string }
  const reason = code ?? error.message
  return withoutSecrets(
    `${where} cannot do it now (${reason}); check that it runs and that REDIS_URL names it`,
    env,
  )
}

/** Host and port of a URL, and nothing else of it. With `NAME_FILE` the URL is not known here. */
const serverOf = (url: string | undefined): string => {
  const host = url === undefined ? undefined : URL.parse(url)?.host
  return host === undefined || host === '' ? 'its address' : host
}

/** A driver may quote what it was given. */
function withoutSecrets(text: string, env: Env): string {
  const passwords = [env['DATABASE_URL'], env['REDIS_URL']].flatMap((url) => {
    const password = url === undefined ? undefined : URL.parse(url)?.password
    return password ? [url ?? '', password, decodeURIComponent(password)] : []
  })
  const secrets = [
    ...passwords,
    env['SUME_API_KEY'] ?? '',
    env['INTENTS_TOKEN'] ?? '',
    ...(env['SUME_WEBHOOK_SECRETS'] ?? '').split(','),
  ]
  return secrets
    .filter((secret) => secret.trim().length > 3)
    .reduce((left, secret) => left.replaceAll(secret.trim(), '***'), text)
}
