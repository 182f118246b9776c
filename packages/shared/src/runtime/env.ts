import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** What a process finds in its environment: `process.env`, which only `main.ts` touches. */
export type Env = Readonly<Record<string, string | undefined>>

/** The configuration cannot be used. `problems` names every one of them, each with its fix. */
export class ConfigError extends Error {
  readonly code = 'CONFIG'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(
      `the configuration has ${problems.length} problem(s):\n${problems.map((p) => `  - ${p}`).join('\n')}`,
    )
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** The names whose value may also come from the file that `NAME_FILE` names. */
const SECRETS: readonly string[] = [
  'DATABASE_URL',
  'REDIS_URL',
  'SUME_WEBHOOK_SECRETS',
  'SUME_API_KEY',
  'INTENTS_TOKEN',
  'CONSOLE_PASSWORD',
  'CONSOLE_VIEWER_PASSWORD',
  'CONSOLE_SESSION_KEY',
]

/**
 * Reads the environment by a zod object whose keys are the environment's names. An empty value counts
 * as unset. Every problem is reported at once, and no problem quotes a value: it may be a secret.
 *
 * @throws ConfigError with all problems.
 */
export function readEnv<S extends z.ZodObject>(spec: S, env: Env): z.infer<S> {
  const problems: string[] = []
  const values: Record<string, string> = {}
  for (const name of Object.keys(spec.shape)) {
    const value = valueOf(name, env, problems)
    if (value !== undefined) values[name] = value
  }
  const read = spec.safeParse(values)
  if (!read.success) {
    for (const issue of read.error.issues) {
      const name = issue.path.join('.')
      if (problems.some((problem) => problem.startsWith(`${name}_FILE`))) continue
      problems.push(name === '' ? issue.message : `${name}: ${issue.message}`)
    }
  }
  if (problems.length > 0 || !read.success) throw new ConfigError(problems)
  return read.data
}

function valueOf(name: string, env: Env, problems: string[]): string | undefined {
  const value = env[name] === '' ? undefined : env[name]
  const file = SECRETS.includes(name) ? env[`${name}_FILE`] : undefined
  if (file === undefined || file === '') return value
  if (value !== undefined) {
    problems.push(`${name}_FILE: ${name} is set too; keep one of them`)
    return undefined
  }
  try {
    const content = readFileSync(file, 'utf8').trimEnd()
    return content === '' ? undefined : content
  } catch (error) {
    problems.push(
      `${name}_FILE: its file cannot be read (${(error as NodeJS.ErrnoException).code})`,
    )
    return undefined
  }
}

/** The message of a missing value; `fix` says what to set. */
const missing = (fix: string) => ({ error: `is missing; ${fix}` })

/** A required text. */
export const text = (fix: string) => z.string(missing(fix))

/** A whole number in decimal digits; no `0x10`, no `1e3`, and nothing that coercion would let pass. */
export function integer(options: { min: number; max: number; default?: number; fix?: string }) {
  const { min, max } = options
  const say = `must be a whole number from ${min} to ${max}`
  const read = z
    .string(missing(options.fix ?? `set a whole number from ${min} to ${max}`))
    .refine(
      (digits) => /^\d{1,15}$/.test(digits) && Number(digits) >= min && Number(digits) <= max,
      {
        error: say,
      },
    )
    .transform(Number)
  return options.default === undefined ? read : read.default(options.default)
}

/** A URL with one of the given protocols (`https:`), as it was written. */
export function url(protocols: readonly string[], fix: string) {
  return z.string(missing(fix)).refine(
    (value) => {
      const parsed = URL.parse(value)
      return parsed !== null && protocols.includes(parsed.protocol) && parsed.hostname !== ''
    },
    {
      error: `must be a URL that begins with ${protocols.map((p) => `${p}//`).join(' or ')}; ${fix}`,
    },
  )
}

/** Comma-separated secrets, each of at least 16 characters: an empty secret would let anybody sign. */
export const secrets = (fix: string) =>
  z
    .string(missing(fix))
    .transform((value) => value.split(',').map((secret) => secret.trim()))
    .refine((list) => list.every((secret) => secret.length >= 16), {
      error: `every secret needs at least 16 characters; ${fix}`,
    })

/** The name of an HTTP header, in lower case. */
export const headerName = (fallback: string) =>
  z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, { error: 'must be a header name: letters, digits and dashes' })
    .transform((name) => name.toLowerCase())
    .default(fallback)

/** One of pino's level names. */
export const logLevel = () =>
  z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'must be one of fatal, error, warn, info, debug, trace, silent',
    })
    .default('info')

const idPath = (fallback: string) =>
  z
    .string()
    .regex(/^\/[^\s?#]*\{id\}[^\s?#]*$/, {
      error: `must be a path with {id} in it, as in ${fallback}`,
    })
    .default(fallback)

/** The environment names of who calls Sume's API. */
export const sumeSpec = {
  SUME_API_URL: url(['https:', 'http:'], 'for example https://api.open.sume.com').default(
    'https://api.open.sume.com',
  ),
  SUME_API_KEY: z.string().optional(),
  SUME_API_AUTH: z
    .enum(['bearer', 'x-api-key'], { error: 'must be bearer or x-api-key' })
    .default('bearer'),
  SUME_JOB_PATH: idPath('/v1/jobs/{id}'),
  SUME_RUN_PATH: idPath('/v1/runs/{id}'),
}

/** What we give Sume with a submit: where its webhooks go. */
export const webhookUrlSpec = {
  SUME_WEBHOOK_URL: url(
    ['https:', 'http:'],
    'for example https://inbox.example.com/webhooks/sume',
  ).optional(),
}

/** The environment names of who asks Sume about intents without an event. */
export const reconcileSpec = {
  RECONCILE_AFTER_MS: integer({ min: 100, max: 86_400_000, default: 120_000 }),
  RECONCILE_HORIZON_MS: integer({ min: 1000, max: 365 * 86_400_000, default: 7 * 86_400_000 }),
  RECONCILE_PER_SECOND: integer({ min: 1, max: 1000, default: 10 }),
}

/** The environment names that every process with a ledger and a queue reads. */
export const servicesSpec = {
  DATABASE_URL: url(['mysql:'], 'for example mysql://user:password@host:3306/sume_inbox').refine(
    (value) => (URL.parse(value)?.pathname.length ?? 0) > 1,
    { error: 'must name a database, as in mysql://user:password@host:3306/sume_inbox' },
  ),
  REDIS_URL: url(['redis:', 'rediss:'], 'for example redis://host:6379'),
  QUEUE_PREFIX: z
    .string()
    .regex(/^[^{}\s]*\{[^{}\s]+\}[^{}\s]*$/, {
      error:
        'must contain a hash tag, as in {sume}: all keys of a queue must live on one cluster node',
    })
    .default('{sume}'),
  DATABASE_TIMEOUT_MS: integer({ min: 100, max: 60_000, default: 4000 }),
  LOG_LEVEL: logLevel(),
  STOP_GRACE_MS: integer({ min: 1000, max: 600_000, default: 8000 }),
}
