import { type Logger, pino } from 'pino'

export type { Logger } from 'pino'

/** The process's log: JSON lines on standard output. Lines carry ids and counts, never a body or a secret. */
export const openLog = (app: string, level: string): Logger =>
  pino({ level, base: { app }, timestamp: pino.stdTimeFunctions.isoTime })
