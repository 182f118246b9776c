import closeWithGrace from 'close-with-grace'
import { pino } from 'pino'
import { buildSandbox } from './app.ts'
import { readConfig } from './config.ts'

const config = readConfig(process.env)
if ('problems' in config) {
  process.stderr.write(`the configuration has ${config.problems.length} problem(s):\n`)
  for (const problem of config.problems) process.stderr.write(`  - ${problem}\n`)
  process.exit(2)
}
const log = pino({
  level: config.LOG_LEVEL,
  base: { app: 'sandbox' },
  timestamp: pino.stdTimeFunctions.isoTime,
})
const sandbox = buildSandbox(config, log)
try {
  await sandbox.app.listen({ host: config.HOST, port: config.PORT })
} catch (error) {
  process.stderr.write(`cannot start: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
const address = sandbox.app.server.address()
log.info(
  { port: typeof address === 'object' && address !== null ? address.port : config.PORT },
  'listening',
)
closeWithGrace({ delay: config.STOP_GRACE_MS, logger: false }, async ({ err }) => {
  if (err !== undefined) log.fatal({ err }, 'an error that nobody caught')
  await sandbox.close()
})
