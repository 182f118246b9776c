export { adoptIntent, attachIntent } from './attach-intent.ts'
export {
  countUnsettledIntents,
  type EventWithoutIntent,
  findIntent,
  type IntentCount,
  listEventsWithoutIntent,
  listIntents,
  listIntentsWithoutEvent,
  neighbouringKeys,
  readIntent,
  readIntentBody,
} from './find-intents.ts'
export type {
  IntentError,
  IntentLease,
  IntentState,
  IntentSummary,
  LeasedIntent,
} from './intent.ts'
export { leasePending } from './lease-intents.ts'
export { leaseUnsettled, type Unsettled, type UnsettledIntent } from './lease-unsettled.ts'
export { loseIntent, postponePoll, recordPoll, recordRunWebhook } from './record-poll.ts'
export { type NewIntent, reserveIntent } from './reserve-intent.ts'
export { hastenIntent, postponeIntent, refuseIntent, retryIntent } from './settle-intent.ts'
