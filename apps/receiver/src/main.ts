import { setTimeout as sleep } from 'node:timers/promises'
import { openLedger } from '@sume-inbox/shared/ledger'
import { openProducer } from '@sume-inbox/shared/queues'
import { errorText, runProcess, systemClock } from '@sume-inbox/shared/runtime'
import {
  addProcessMetrics,
  countTelemetry,
  logEvents,
  makeEvents,
  openLog,
} from '@sume-inbox/shared/telemetry'
import { buildReceiver } from './app.ts'
import { readConfig } from './config.ts'

await runProcess(process.env, async (env) => {
  const config = readConfig(env)
  const log = openLog('receiver', config.LOG_LEVEL)
  const events = makeEvents()
  logEvents(events, log, systemClock)
  const metrics = countTelemetry(events)
  addProcessMetrics(metrics)
  const trouble = (where: string) => (error: Error) =>
    events.emit('background:error', { where, error })
  const ledger = openLedger({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    timeoutMs: config.DATABASE_TIMEOUT_MS,
    onError: trouble('mysql'),
  })
  const producer = openProducer({
    redisUrl: config.REDIS_URL,
    prefix: config.QUEUE_PREFIX,
    maxAttempts: config.MAX_ATTEMPTS,
    onError: trouble('redis'),
  })
  const receiver = buildReceiver({ config, ledger, producer, events, metrics, log })
  const ports = await receiver.listen()
  log.info(ports, 'listening')
  const graceMs = config.STOP_GRACE_MS
  return {
    graceMs,
    crashed: (error) =>
      log.fatal({ error: errorText(error), stack: error.stack }, 'an error that nobody caught'),
    async stop() {
      log.info({}, 'stopping')
      // The requests get most of the grace; a server that is away must not use up what is left of it.
      await receiver.close(graceMs * 0.7)
      await Promise.race([
        Promise.all([producer.close(), ledger.close()]),
        sleep(graceMs * 0.2, undefined, { ref: false }),
      ])
    },
  }
})
