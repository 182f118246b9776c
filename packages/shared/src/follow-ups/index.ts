export { defineFollowUps, findFollowUp, type FollowUps } from './define-follow-ups.ts'
export type {
  FollowUp,
  FollowUpContext,
  FollowUpEvent,
  FollowUpIntent,
  FollowUpLog,
  SumeArtifact,
  SumePayload,
} from './follow-up.ts'
export { discard, isOutcome, type Outcome, snooze } from './outcome.ts'
