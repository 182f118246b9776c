import { errorText } from '../runtime/index.ts'
import type { Events } from './events.ts'
import type { Logger } from './logger.ts'

/** How long one trouble that repeats, such as a lost connection, stays quiet after it was logged. */
const REPEAT_MS = 10_000

/** One line for each delivery, attempt and service run that did something. Errors are for a person to act on. */
export function logEvents(events: Events, log: Logger, now: () => number): void {
  events.on('delivery:answered', ({ error, ...line }) => {
    const fields = error === undefined ? line : { ...line, error: errorText(error) }
    if (line.receipt === 'unavailable')
      log.error(fields, 'delivery refused: the ledger cannot take it now')
    else if (line.receipt === 'failed') log.error(fields, 'delivery failed: a bug')
    else if (line.receipt === 'unsigned') log.warn(fields, 'delivery refused: not signed')
    else if (line.receipt === 'quarantined') log.warn(fields, 'delivery quarantined')
    else log.info(fields, `delivery ${line.receipt}`)
  })
  events.on('enqueue:failed', ({ dedupeKey, error }) =>
    log.warn({ dedupeKey, error: errorText(error) }, 'not enqueued; the sweeper will'),
  )
  events.on('attempt:started', (line) => log.debug(line, 'attempt started'))
  events.on('attempt:settled', (line) => {
    if (line.outcome === 'dead') log.error(line, 'event dead: a person must look')
    else if (line.outcome === 'done') log.info(line, 'event done')
    else log.warn(line, `attempt settled: ${line.outcome}`)
  })
  events.on('attempt:refused', (line) => log.info(line, 'attempt refused'))
  events.on('lease:lost', (line) => log.warn(line, 'lease lost'))
  events.on('event:swept', (line) => log.warn(line, 'put back into the queue'))
  events.on('intent:tried', (line) => {
    const { outcome } = line
    if (outcome === 'submitted') log.info(line, 'intent submitted')
    else if (outcome === 'conflict' || outcome === 'rejected')
      log.error(line, `intent ${outcome}: a person must look`)
    else log.warn(line, `intent ${outcome}: the same key is sent again`)
  })
  events.on('intent:reconciled', (line) => {
    const { outcome } = line
    if (outcome === 'first') log.warn(line, 'an outcome whose webhook had not come')
    else if (outcome === 'lost') log.error(line, 'intent lost: a person must look')
    else if (outcome === 'away') log.warn(line, 'Sume cannot be asked now')
    else log.info(line, `intent asked about: ${outcome}`)
  })
  events.on('sume:failed', ({ call, kind, status, code, requestId, retryable, message }) =>
    log.warn(
      { call, kind, status, code, requestId, retryable, error: message },
      'a call to Sume failed',
    ),
  )
  events.on('service:ran', (line) => {
    const idle = Object.values(line.report).every((count) => count === 0)
    log[idle ? 'debug' : 'info'](line, `${line.service} ran`)
  })
  events.on('service:failed', ({ error, ...line }) =>
    log.error({ ...line, error: errorText(error) }, `${line.service} failed; it will run again`),
  )
  events.on('readiness:changed', ({ ready, because, degraded = [] }) => {
    if (!ready) log.warn({ because, degraded }, `not ready: ${because ?? 'unknown'}; waiting`)
    else if (degraded.length > 0) log.warn({ degraded }, `ready, without ${degraded.join(', ')}`)
    else log.info({}, 'ready')
  })
  const quietUntil = new Map<string, number>()
  events.on('background:error', ({ where, error }) => {
    const said = `${where}: ${errorText(error)}`
    if ((quietUntil.get(said) ?? 0) > now()) return
    if (quietUntil.size > 1000) quietUntil.clear()
    quietUntil.set(said, now() + REPEAT_MS)
    log.warn({ where, error: errorText(error) }, 'trouble in the background')
  })
}
