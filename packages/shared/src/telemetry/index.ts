export { type Events, type InboxEvents, makeEvents, observeServices } from './events.ts'
export { logEvents } from './log-events.ts'
export { type Logger, openLog } from './logger.ts'
export { probes, type Readiness } from './probes.ts'
