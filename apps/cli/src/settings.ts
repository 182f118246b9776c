import {
  headerName,
  integer,
  reconcileSpec,
  secrets,
  servicesSpec,
  sumeSpec,
  text,
  webhookUrlSpec,
} from '@sume-inbox/shared/runtime'
import { z } from 'zod'

const { DATABASE_URL, DATABASE_TIMEOUT_MS, REDIS_URL, QUEUE_PREFIX } = servicesSpec

/** Each command reads only the settings that it needs, so that a missing Redis does not stop `migrate`. */
export const databaseSettings = z.object({ DATABASE_URL, DATABASE_TIMEOUT_MS })

/** `status` tells of the queue too, where it is known. */
export const statusSettings = databaseSettings.extend({
  REDIS_URL: REDIS_URL.optional(),
  QUEUE_PREFIX,
})

export const sweepSettings = databaseSettings.extend({
  REDIS_URL,
  QUEUE_PREFIX,
  MAX_ATTEMPTS: integer({ min: 1, max: 1000, default: 10 }),
  SWEEP_EVERY_MS: integer({ min: 100, max: 3_600_000, default: 5000 }),
})

/** `submit` writes an intent; a worker sends it. */
export const submitSettings = databaseSettings.extend(webhookUrlSpec)

/** `reconcile` asks Sume itself. */
export const reconcileSettings = sweepSettings.extend({
  ...sumeSpec,
  ...reconcileSpec,
  SUME_API_KEY: text('set the key of your Sume account'),
  ENQUEUE_GRACE_MS: integer({ min: 100, max: 3_600_000, default: 15_000 }),
})

export const headerSettings = z.object({
  SUME_SIGNATURE_HEADER: headerName('x-sume-signature'),
  SUME_TIMESTAMP_HEADER: headerName('x-sume-timestamp'),
})

export const secretSettings = z.object({
  SUME_WEBHOOK_SECRETS: secrets("set Sume's signing secrets, separated by commas"),
})

/** What more than one process reads, and what `doctor` measures the servers by. */
export const doctorSettings = sweepSettings.extend({
  ...secretSettings.shape,
  ...headerSettings.shape,
  SUME_WEBHOOK_TOLERANCE_SECONDS: integer({ min: 1, max: 86_400, default: 300 }),
  ...sumeSpec,
  ...webhookUrlSpec,
  ...reconcileSpec,
  BODY_LIMIT_BYTES: integer({ min: 1024, max: 64 * 1024 * 1024, default: 1024 * 1024 }),
})
