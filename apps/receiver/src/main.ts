import { openLedger } from '@sume-inbox/shared/ledger'
import { openProducer } from '@sume-inbox/shared/queues'
import { runProcess, systemClock } from '@sume-inbox/shared/runtime'
import { logEvents, makeEvents, openLog } from '@sume-inbox/shared/telemetry'
import { buildReceiver } from './app.ts'
import { readConfig } from './config.ts'

await runProcess(process.env, async (env) => {
  const config = readConfig(env)
  const log = openLog('receiver', config.LOG_LEVEL)
  const events = makeEvents()
  logEvents(events, log, systemClock)
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
  const receiver = buildReceiver({ config, ledger, producer, events, log })
  const ports = await receiver.listen()
  log.info(ports, 'listening')
  return {
    graceMs: config.STOP_GRACE_MS,
    crashed: (error) => log.fatal({ err: error }, 'an error that nobody caught'),
    async stop() {
      log.info('stopping')
      // Two seconds of the grace are for the connections to MySQL and Redis.
      await receiver.close(Math.max(config.STOP_GRACE_MS - 2000, 500))
      await Promise.all([producer.close(), ledger.close()])
    },
  }
})
