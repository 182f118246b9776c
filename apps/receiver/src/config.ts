import {
  type Env,
  headerName,
  integer,
  readEnv,
  secrets,
  servicesSpec,
} from '@sume-inbox/shared/runtime'
import { z } from 'zod'

const port = (fallback: number) => integer({ min: 0, max: 65_535, default: fallback })

/** The environment names that the receiver reads, with their defaults. */
const spec = z.object({
  ...servicesSpec,
  HOST: z.string().default('0.0.0.0'),
  PORT: port(8080),
  INTERNAL_HOST: z.string().default('127.0.0.1'),
  INTERNAL_PORT: port(9080),
  // Well below what the servers take in one packet (MariaDB: 16 MiB), or a body could be signed but never stored.
  BODY_LIMIT_BYTES: integer({ min: 1024, max: 8 * 1024 * 1024, default: 1024 * 1024 }),
  DATABASE_POOL_SIZE: integer({ min: 1, max: 500, default: 16 }),
  // Sume waits 10 s for an answer; five of them are ours, one is Redis's.
  DATABASE_TIMEOUT_MS: integer({ min: 100, max: 4000, default: 4000 }),
  SUME_WEBHOOK_SECRETS: secrets("Sume's signing secret, or several separated by commas"),
  SUME_WEBHOOK_TOLERANCE_SECONDS: integer({ min: 1, max: 86_400, default: 300 }),
  SUME_SIGNATURE_HEADER: headerName('x-sume-signature'),
  SUME_TIMESTAMP_HEADER: headerName('x-sume-timestamp'),
  ENQUEUE_GRACE_MS: integer({ min: 0, max: 3_600_000, default: 15_000 }),
  MAX_ATTEMPTS: integer({ min: 1, max: 1000, default: 10 }),
  QUARANTINE_MAX_ROWS: integer({ min: 1, max: 10_000_000, default: 10_000 }),
})

export type ReceiverConfig = z.infer<typeof spec>

/** @throws ConfigError that names every problem with its fix. */
export const readConfig = (env: Env): ReceiverConfig => readEnv(spec, env)
