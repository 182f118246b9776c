export { enqueueNow, type OperatorDeps } from './enqueue-now.ts'
export { type Released, releaseMany, type ReleaseReport } from './release.ts'
export { countMatching, type Replayed, replayMany, replayOne, type ReplayReport } from './replay.ts'
