import { hostname } from 'node:os'
import { openLedger } from '@sume-inbox/shared/ledger'
import { openRestorer } from '@sume-inbox/shared/queues'
import { runProcess, systemClock } from '@sume-inbox/shared/runtime'
import {
  addProcessMetrics,
  countTelemetry,
  logEvents,
  makeEvents,
  openLog,
} from '@sume-inbox/shared/telemetry'
import { startWorker } from './app.ts'
import { readConfig } from './config.ts'
import { loadFollowUps } from './follow-ups/load.ts'
import { openSumeClient } from './sume-client.ts'

await runProcess(process.env, async (env) => {
  const config = readConfig(env)
  const followUps = await loadFollowUps(config.FOLLOW_UPS, process.cwd())
  const log = openLog('worker', config.LOG_LEVEL)
  const events = makeEvents()
  logEvents(events, log, systemClock)
  const metrics = countTelemetry(events)
  addProcessMetrics(metrics)
  const told = (where: string) => (error: Error) =>
    events.emit('background:error', { where, error })

  const ledger = openLedger({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    timeoutMs: config.DATABASE_TIMEOUT_MS,
    onError: told('ledger'),
  })
  const restorer = openRestorer({
    redisUrl: config.REDIS_URL,
    prefix: config.QUEUE_PREFIX,
    maxAttempts: config.MAX_ATTEMPTS,
    onError: told('sweeper'),
  })
  const client = openSumeClient(config, events)
  if (client === null)
    log.warn({}, 'SUME_API_KEY is not set: intents are neither submitted nor reconciled here')
  const name = `${hostname()
    .replaceAll(/[^\x21-\x7e]/g, '-')
    .slice(0, 100)}:${process.pid}`
  const worker = await startWorker(
    { ledger, restorer, followUps, client, events, metrics, log, worker: name },
    config,
  )
  log.info(
    { port: worker.internalPort, internalPort: worker.internalPort, worker: name },
    'listening',
  )
  return {
    graceMs: config.STOP_GRACE_MS,
    stop: () => worker.stop(),
    crashed: (error) => log.fatal({ err: error }, 'an error that nobody caught'),
  }
})
