import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openLedger } from '@sume-inbox/shared/ledger'
import { openBoardQueue } from '@sume-inbox/shared/queues'
import { errorText, runProcess, systemClock } from '@sume-inbox/shared/runtime'
import { logEvents, makeEvents, openLog } from '@sume-inbox/shared/telemetry'
import { buildConsole } from './app.ts'
import { readConfig } from './config.ts'

await runProcess(process.env, async (env) => {
  const config = readConfig(env)
  const log = openLog('console', config.LOG_LEVEL)
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
  const board = openBoardQueue({
    redisUrl: config.REDIS_URL,
    prefix: config.QUEUE_PREFIX,
    onError: trouble('redis'),
  })
  const sessionKey = config.CONSOLE_SESSION_KEY ?? randomBytes(32).toString('hex')
  const app = await buildConsole({ config, ledger, board, log, sessionKey })
  if (config.CONSOLE_PASSWORD === undefined)
    log.warn({}, 'open: everybody on this machine is an operator; set CONSOLE_PASSWORD for a login')
  else if (config.CONSOLE_SESSION_KEY === undefined)
    log.warn(
      {},
      'CONSOLE_SESSION_KEY is not set: sessions end with this process, and several consoles would not know each other’s',
    )
  log.info(await app.listen(), 'listening')
  const graceMs = config.STOP_GRACE_MS
  return {
    graceMs,
    crashed: (error) =>
      log.fatal({ error: errorText(error), stack: error.stack }, 'an error that nobody caught'),
    async stop() {
      log.info({}, 'stopping')
      // The requests get most of the grace; a server that is away must not use up what is left of it.
      await app.close(graceMs * 0.7)
      await Promise.race([
        Promise.all([board.close(), ledger.close()]),
        sleep(graceMs * 0.2, undefined, { ref: false }),
      ])
    },
  }
})
