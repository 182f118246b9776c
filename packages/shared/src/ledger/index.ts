export { type Claim, claimEvent, type ClaimedEvent, readClaimed } from './claim-event.ts'
export { countEvents, type EventCount } from './count-events.ts'
export { countDue, type Lag } from './count-due.ts'
export { countOpen, type OpenEvents } from './count-open.ts'
export { countQuarantine, type QuarantineCount } from './count-quarantine.ts'
export { countRedelivered } from './count-redelivered.ts'
export { type Db, type Ledger, type LedgerOptions, openLedger } from './db.ts'
export { isUnavailable, type LedgerCode, LedgerError } from './errors.ts'
export { exhaustEvent } from './exhaust-event.ts'
export { findByAnyId, findByRequestId } from './find-by-any-id.ts'
export { type EventSummary, findEvents } from './find-events.ts'
export * from './intents/index.ts'
export { type DatabaseServer, inspectServer } from './inspect-server.ts'
export { type DueEvent, leaseDue } from './lease-due.ts'
export { type AttemptRow, listAttempts } from './list-attempts.ts'
export { type ListedEvent, listEvents } from './list-events.ts'
export { listReplays, type ReplayRow } from './list-replays.ts'
export { isMigrated, migrate, pendingMigrations } from './migrate.ts'
export { neighbouringIds } from './neighbouring-ids.ts'
export { type EventFilter, type EventPage, pageEvents, type PageCursor } from './page-events.ts'
export {
  listQuarantine,
  type Quarantined,
  readQuarantined,
  releaseQuarantined,
  type Release,
} from './quarantine-release.ts'
export { quarantineBody, trimQuarantine } from './quarantine-body.ts'
export { readPayload } from './read-payload.ts'
export { readStanding, type Standing } from './read-event.ts'
export { deleteEmptied, emptyPayloads } from './reap-events.ts'
export { recordDelivery, type Recording } from './record-delivery.ts'
export { renewLease } from './renew-lease.ts'
export { type Replay, replayEvents, retryEvent, type Reviver } from './revive-event.ts'
export {
  type Lease,
  settleDead,
  settleDone,
  settleDoneWith,
  settleRetry,
  settleSnooze,
} from './settle-event.ts'
export { stillClaimed } from './still-claimed.ts'
