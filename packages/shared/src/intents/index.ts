export { deriveKey } from './derive-key.ts'
export { judgePoll, type PollRules, type PollVerdict } from './poll-verdict.ts'
export { IntentProblem, isSumeId, prepareIntent, type SubmitRequest } from './prepare-intent.ts'
export { readJson } from './read-json.ts'
export {
  type ReconcileDeps,
  reconcileDue,
  type Reconciled,
  type ReconcileReport,
  type ReconcileRules,
} from './reconcile.ts'
export { attach, reserve } from './reserve.ts'
export { type SubmitDeps, submitNext, type Submitted, type SubmitRules } from './submit-next.ts'
export { judgeSubmit, type SubmitVerdict } from './submit-verdict.ts'
