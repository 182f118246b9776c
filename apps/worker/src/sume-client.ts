import { makeSumeClient, type SumeClient } from '@sume-inbox/shared/sume'
import type { Events } from '@sume-inbox/shared/telemetry'
import type { WorkerConfig } from './config.ts'

/** The client of Sume's API, or `null` without a key for it. */
export const openSumeClient = (config: WorkerConfig, events: Events): SumeClient | null =>
  config.SUME_API_KEY === undefined
    ? null
    : makeSumeClient({
        url: config.SUME_API_URL,
        key: config.SUME_API_KEY,
        auth: config.SUME_API_AUTH,
        jobPath: config.SUME_JOB_PATH,
        runPath: config.SUME_RUN_PATH,
        onFailure: (error) => events.emit('sume:failed', error),
      })
