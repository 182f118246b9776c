import { type Env, integer, readEnv, servicesSpec } from '@sume-inbox/shared/runtime'
import { z } from 'zod'
import { isLoopback } from './login/loopback.ts'

const password = () => z.string().min(12, { error: 'must have at least 12 characters' }).optional()

const spec = z
  .object({
    ...servicesSpec,
    HOST: z.string().default('0.0.0.0'),
    PORT: integer({ min: 0, max: 65_535, default: 8081 }),
    DATABASE_POOL_SIZE: integer({ min: 1, max: 500, default: 4 }),
    // As the workers': a retry gives an event the last of them again.
    MAX_ATTEMPTS: integer({ min: 1, max: 1000, default: 10 }),
    CONSOLE_PASSWORD: password(),
    CONSOLE_VIEWER_PASSWORD: password(),
    CONSOLE_SESSION_KEY: z
      .string()
      .min(32, { error: 'must have at least 32 characters, as `openssl rand -hex 32` makes them' })
      .optional(),
    CONSOLE_BASE_PATH: z
      .string()
      .regex(/^\/(?:[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*\/?)?$/, {
        error: 'must be a path that begins with /, as in /console/',
      })
      .transform((path) => (path.endsWith('/') ? path : `${path}/`))
      .default('/'),
  })
  // `when`: these two are told together with every other problem, not after those are mended.
  .refine(({ HOST, CONSOLE_PASSWORD }) => CONSOLE_PASSWORD !== undefined || isLoopback(HOST), {
    path: ['CONSOLE_PASSWORD'],
    error:
      'is missing; set the password of the operators, or HOST to a loopback address (127.0.0.1) for a console that is open to this machine only',
    when: () => true,
  })
  .refine(
    ({ CONSOLE_PASSWORD, CONSOLE_VIEWER_PASSWORD }) =>
      CONSOLE_VIEWER_PASSWORD === undefined ||
      (CONSOLE_PASSWORD !== undefined && CONSOLE_VIEWER_PASSWORD !== CONSOLE_PASSWORD),
    {
      path: ['CONSOLE_VIEWER_PASSWORD'],
      error: 'needs a CONSOLE_PASSWORD beside it, and a different one',
      when: () => true,
    },
  )

export type ConsoleConfig = z.infer<typeof spec>

/** @throws ConfigError that names every problem with its fix. */
export const readConfig = (env: Env): ConsoleConfig => readEnv(spec, env)
