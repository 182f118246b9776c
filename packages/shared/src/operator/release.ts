import { releaseQuarantined, type Release, type Reviver } from '../ledger/index.ts'
import { enqueueNow, type OperatorDeps } from './enqueue-now.ts'

/** What became of one quarantined body. */
export type Released = Release & { readonly sha256: string; readonly enqueued: boolean }

export interface ReleaseReport {
  readonly released: number
  /** Bodies that this version cannot read either: they stay. */
  readonly stayed: number
  readonly stopped: boolean
}

/** The sweeper's clock for a released event: it is put into the queue right after. */
const GRACE_MS = 0

/**
 * Reads quarantined bodies again: those that are events now enter the ledger and the queue, the others
 * stay. Each body is its own transaction, so it may be stopped and repeated at any time.
 *
 * @param bodies the names of the bodies (SHA-256, hex).
 * @param options.told is told of each body.
 */
export async function releaseMany(
  deps: OperatorDeps,
  bodies: readonly string[],
  options: { reviver: Reviver; signal?: AbortSignal; told?: (released: Released) => void },
): Promise<ReleaseReport> {
  let released = 0
  let stayed = 0
  for (const sha256 of bodies) {
    if (options.signal?.aborted === true) return { released, stayed, stopped: true }
    const release = await releaseQuarantined(deps.ledger, sha256, GRACE_MS, options.reviver)
    const enqueued =
      release.released && release.first ? await enqueueNow(deps, [release.envelope]) : false
    if (release.released) released += 1
    else stayed += 1
    options.told?.({ ...release, sha256, enqueued })
  }
  return { released, stayed, stopped: false }
}
