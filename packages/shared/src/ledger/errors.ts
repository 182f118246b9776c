import { DeadlineError } from '../runtime/index.ts'

/**
 * What the ledger refuses by its own rules.
 * - `LEASE_LOST`: another attempt holds the event by now, or it ended.
 * - `ALREADY_COMPLETED`: `complete` was called twice in one attempt.
 * - `TABLE_IN_THE_WAY`: `migrate` found a table where its view belongs, and changed nothing.
 * - `MIGRATION_CHANGED`: a migration that was applied differs from the file of its name.
 * - `LOCK_TIMEOUT`: another process has been migrating for too long.
 * - `KEY_REUSED`: an intent has this key already, for another submit.
 * - `NO_SUCH_INTENT`: no intent has this key.
 * - `ID_OF_ANOTHER_INTENT`: one job or run cannot belong to two intents.
 * - `INTENT_HAS_ANOTHER_ID`: one intent cannot have two jobs or runs.
 */
export type LedgerCode =
  | 'LEASE_LOST'
  | 'ALREADY_COMPLETED'
  | 'TABLE_IN_THE_WAY'
  | 'MIGRATION_CHANGED'
  | 'LOCK_TIMEOUT'
  | 'KEY_REUSED'
  | 'NO_SUCH_INTENT'
  | 'ID_OF_ANOTHER_INTENT'
  | 'INTENT_HAS_ANOTHER_ID'

export class LedgerError extends Error {
  readonly code: LedgerCode

  constructor(code: LedgerCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'LedgerError'
    this.code = code
  }
}

/** Server error numbers that say "not now": busy, out of something, shutting down, read-only, or not migrated yet. */
const NOT_NOW = new Set([
  1020, // record has changed since last read (MariaDB's snapshot isolation)
  1021, // disk full
  1036, // table is read only
  1037, // out of memory
  1038, // out of sort memory
  1040, // too many connections
  1041, // out of resources
  1043, // bad handshake
  1044, // access denied to the database
  1045, // access denied
  1046, // no database selected
  1049, // unknown database
  1053, // server shutdown in progress
  1054, // unknown column: an older schema
  1077, // normal shutdown
  1079, // shutdown complete
  1114, // table full
  1129, // host blocked
  1142, // command denied
  1146, // no such table
  1158, // network: reading packets
  1159, // network: read timeout
  1160, // network: writing packets
  1161, // network: write timeout
  1203, // user has too many connections
  1205, // lock wait timeout
  1213, // deadlock
  1226, // user exceeded a resource
  1290, // server runs with an option such as --read-only
  1317, // query interrupted
  1836, // running in read-only mode
  1927, // connection killed (MariaDB)
  1969, // query exceeded max_statement_time (MariaDB)
  3024, // query exceeded max_execution_time
  4031, // disconnected by the server after inactivity
])

/** Codes that the driver and the socket give. */
const CONNECTION = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'POOL_CLOSED',
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])

/**
 * Whether the same call may succeed later without anybody changing code: the server is away, busy or
 * not migrated yet. Everything else is our own bug. Nobody else looks at a driver's codes.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DeadlineError) return true
  if (!(error instanceof Error)) return false
  const { errno, code, fatal } = error as { errno?: unknown; code?: unknown; fatal?: unknown }
  if (fatal === true) return true
  if (typeof errno === 'number' && NOT_NOW.has(errno)) return true
  if (typeof code === 'string' && CONNECTION.has(code)) return true
  return error.message === 'Queue limit reached.' || error.message.includes('closed state')
}

/** Whether a table, view or column that a migration makes is missing. */
export const isNotMigrated = (error: unknown): boolean =>
  error instanceof Error && [1146, 1049, 1054].includes((error as { errno?: number }).errno ?? 0)
