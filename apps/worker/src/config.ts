import {
  type Env,
  integer,
  readEnv,
  reconcileSpec,
  servicesSpec,
  sumeSpec,
  text,
  webhookUrlSpec,
} from '@sume-inbox/shared/runtime'
import { z } from 'zod'

/** Connections beyond one for each running attempt: the sweeper, the renewals and the probes need some too. */
const SPARE_CONNECTIONS = 6
const LEAST_SPARE = 2

const day = 24 * 3600 * 1000

/**
 * A key is how a late delivery is known for one. Sume's ten tries are over within hours, but how long
 * Redeliver can be pressed is not published: three months are a guess on the safe side.
 */
const LEAST_KEY_DAYS = 90

const spec = z
  .object({
    ...servicesSpec,
    ...sumeSpec,
    ...webhookUrlSpec,
    ...reconcileSpec,
    SUBMIT_CONCURRENCY: integer({ min: 1, max: 100, default: 4 }),
    SUBMIT_PER_SECOND: integer({ min: 1, max: 1000, default: 10 }),
    INTENTS_TOKEN: z
      .string()
      .min(16, { error: 'needs at least 16 characters; make one with `openssl rand -hex 32`' })
      .optional(),
    FOLLOW_UPS: text('set the path of your follow-ups module, for example ./follow-ups.ts'),
    WORKER_CONCURRENCY: integer({ min: 1, max: 1000, default: 16 }),
    MAX_ATTEMPTS: integer({ min: 1, max: 1000, default: 10 }),
    ATTEMPT_TIMEOUT_MS: integer({ min: 100, max: day, default: 60_000 }),
    LEASE_MS: integer({ min: 300, max: 3_600_000, default: 30_000 }),
    BACKOFF_MS: integer({ min: 1, max: day, default: 1000 }),
    BACKOFF_CAP_MS: integer({ min: 1, max: 30 * day, default: 600_000 }),
    MAX_SNOOZES: integer({ min: 0, max: 1_000_000, default: 100 }),
    ENQUEUE_GRACE_MS: integer({ min: 100, max: 3_600_000, default: 15_000 }),
    SWEEP_EVERY_MS: integer({ min: 100, max: 3_600_000, default: 5000 }),
    RETAIN_PAYLOAD_DAYS: integer({ min: 1, max: 36_500, default: 30 }),
    RETAIN_KEY_DAYS: integer({ min: LEAST_KEY_DAYS, max: 36_500 }).optional(),
    DATABASE_POOL_SIZE: integer({ min: 1, max: 2000 }).optional(),
    INTERNAL_HOST: z.string().default('127.0.0.1'),
    INTERNAL_PORT: integer({ min: 0, max: 65_535, default: 9081 }),
  })
  .superRefine((config, context) => {
    const least = config.WORKER_CONCURRENCY + LEAST_SPARE
    if (config.DATABASE_POOL_SIZE !== undefined && config.DATABASE_POOL_SIZE < least) {
      context.addIssue({
        code: 'custom',
        path: ['DATABASE_POOL_SIZE'],
        message: `is smaller than WORKER_CONCURRENCY + ${LEAST_SPARE}, so attempts would wait for each other's connections; set it to at least ${least}, leave it unset, or lower WORKER_CONCURRENCY`,
      })
    }
    if (
      config.RETAIN_KEY_DAYS !== undefined &&
      config.RETAIN_KEY_DAYS < config.RETAIN_PAYLOAD_DAYS
    ) {
      context.addIssue({
        code: 'custom',
        path: ['RETAIN_KEY_DAYS'],
        message:
          'is smaller than RETAIN_PAYLOAD_DAYS; raise it, or leave it unset to keep keys for ever',
      })
    }
    if (config.RECONCILE_HORIZON_MS < config.RECONCILE_AFTER_MS) {
      context.addIssue({
        code: 'custom',
        path: ['RECONCILE_HORIZON_MS'],
        message: 'is smaller than RECONCILE_AFTER_MS; raise it, or lower RECONCILE_AFTER_MS',
      })
    }
    if (config.BACKOFF_CAP_MS < config.BACKOFF_MS) {
      context.addIssue({
        code: 'custom',
        path: ['BACKOFF_CAP_MS'],
        message: 'is smaller than BACKOFF_MS; raise it, or lower BACKOFF_MS',
      })
    }
  })

export type WorkerConfig = ReturnType<typeof readConfig>

/** @throws ConfigError with every problem of the environment. */
export function readConfig(env: Env) {
  const config = readEnv(spec, env)
  return {
    ...config,
    DATABASE_POOL_SIZE: config.DATABASE_POOL_SIZE ?? config.WORKER_CONCURRENCY + SPARE_CONNECTIONS,
  }
}
