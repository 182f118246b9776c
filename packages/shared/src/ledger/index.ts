export { type Claim, claimEvent, type ClaimedEvent, readClaimed } from './claim-event.ts'
export { type Db, type Ledger, type LedgerOptions, openLedger } from './db.ts'
export { isUnavailable, type LedgerCode, LedgerError } from './errors.ts'
export { exhaustEvent } from './exhaust-event.ts'
export { type EventSummary, findEvents } from './find-events.ts'
export { type DueEvent, leaseDue } from './lease-due.ts'
export { isMigrated, migrate, pendingMigrations } from './migrate.ts'
export { quarantineBody, trimQuarantine } from './quarantine-body.ts'
export { readStanding, type Standing } from './read-event.ts'
export { recordDelivery, type Recording } from './record-delivery.ts'
export { renewLease } from './renew-lease.ts'
export { forceReplay, replayEvent, retryEvent, type Reviver } from './revive-event.ts'
export {
  type Lease,
  settleDead,
  settleDone,
  settleDoneWith,
  settleRetry,
  settleSnooze,
} from './settle-event.ts'
