import { readFileSync } from 'node:fs'
import { z } from 'zod'

const integer = (min: number, max: number, fallback: number) =>
  z
    .string()
    .refine(
      (digits) => /^\d{1,9}$/.test(digits) && Number(digits) >= min && Number(digits) <= max,
      {
        error: `must be a whole number from ${min} to ${max}`,
      },
    )
    .transform(Number)
    .default(fallback)

const spec = z.object({
  HOST: z.string().default('0.0.0.0'),
  PORT: integer(0, 65_535, 8090),
  SUME_WEBHOOK_SECRETS: z
    .string({ error: 'is missing; the first of its secrets signs the webhooks' })
    .transform((value) => value.split(',').map((secret) => secret.trim()))
    .refine((list) => list.every((secret) => secret.length >= 16), {
      error: 'every secret needs at least 16 characters',
    }),
  SUME_SIGNATURE_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/)
    .default('x-sume-signature'),
  SUME_TIMESTAMP_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/)
    .default('x-sume-timestamp'),
  SANDBOX_RETRY_BASE_MS: integer(1, 60_000, 1000),
  SANDBOX_HTTP_HOSTS: z
    .string()
    .regex(/^[a-z0-9.-]+(,[a-z0-9.-]+)*$/, { error: 'must be host names, separated by commas' })
    .transform((value) => value.split(','))
    .default([]),
  STOP_GRACE_MS: integer(1000, 600_000, 8000),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
})

export type SandboxConfig = z.infer<typeof spec>

/**
 * Reads the sandbox's settings. With code of its own, like all of the sandbox: a bug that it shared with
 * the receiver would hide from every test that plays one against the other.
 *
 * @returns the problems instead, one a line, when there are any.
 */
export function readConfig(env: NodeJS.ProcessEnv): SandboxConfig | { problems: string[] } {
  const set: Record<string, string | undefined> = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== ''),
  )
  const file = set['SUME_WEBHOOK_SECRETS_FILE']
  if (file !== undefined && set['SUME_WEBHOOK_SECRETS'] === undefined) {
    try {
      set['SUME_WEBHOOK_SECRETS'] = readFileSync(file, 'utf8').trim()
    } catch {
      return { problems: ['SUME_WEBHOOK_SECRETS_FILE: its file cannot be read'] }
    }
  }
  const read = spec.safeParse(set)
  if (read.success) return read.data
  return { problems: read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) }
}
