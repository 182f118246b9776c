import {
  type EventFilter,
  type EventSummary,
  findByAnyId,
  type Ledger,
  type PageCursor,
  pageEvents,
  replayEvents,
  type Reviver,
} from '../ledger/index.ts'
import type { Enqueued } from '../queues/index.ts'
import { enqueueNow, type OperatorDeps } from './enqueue-now.ts'

/** What became of a replay of one event. */
export type Replayed =
  | { readonly replayed: true; readonly enqueued: boolean }
  | {
      readonly replayed: false
      /** `done`: it needs force. `claimed`: it is not over. `emptied`: its payload is gone. */
      readonly because: 'claimed' | 'done' | 'emptied'
    }

/**
 * Runs an event's follow-up again, with all attempts: a dead one, or by force one that is done.
 *
 * @throws what the ledger throws. A Redis that is away is no failure: `enqueued` is false then, and the
 *   next sweep enqueues it.
 */
export async function replayOne(
  deps: OperatorDeps,
  event: Pick<EventSummary, 'dedupe_key' | 'state' | 'status'>,
  options: { force: boolean; reviver: Reviver },
): Promise<Replayed> {
  const { dedupe_key: dedupeKey, state, status } = event
  if (state === 'claimed') return { replayed: false, because: 'claimed' }
  if (state === 'done' && !options.force) return { replayed: false, because: 'done' }
  const what = state === 'done' ? 'forced' : 'replay'
  const revived = await replayEvents(deps.ledger, what, [dedupeKey], options.reviver)
  if (revived.length === 1)
    return { replayed: true, enqueued: await enqueueNow(deps, [{ dedupeKey, status }]) }
  // There is nothing left to follow up, or somebody else was quicker.
  const [now] = await findByAnyId(deps.ledger, dedupeKey)
  return { replayed: false, because: now?.state === 'done' ? 'emptied' : 'claimed' }
}

/** The events that a filter means now, page by page, each once however long the caller takes. */
async function* pagesOf(ledger: Ledger, filter: EventFilter): AsyncGenerator<Enqueued[]> {
  const met = new Set<string>()
  let cursor: PageCursor | null = null
  do {
    const page = await pageEvents(ledger, filter, cursor)
    // One that was replayed and is dead again stands further on: once is what was asked for.
    const fresh = page.matching.filter(({ dedupeKey }) => !met.has(dedupeKey))
    for (const { dedupeKey } of fresh) met.add(dedupeKey)
    yield fresh
    cursor = page.next
  } while (cursor !== null)
}

/** How many events a filter means: what a replay of them would begin with. */
export async function countMatching(ledger: Ledger, filter: EventFilter): Promise<number> {
  let count = 0
  for await (const page of pagesOf(ledger, filter)) count += page.length
  return count
}

/** How far a replay of many events has come. */
export interface ReplayReport {
  /** Events that the filter meant so far. */
  readonly matched: number
  readonly replayed: number
  /** Of those replayed, the ones that Redis did not take: the next sweep enqueues them. */
  readonly leftToSweeper: number
  /** Whether it was stopped before the end. */
  readonly stopped: boolean
}

/** Events of one transaction: small, so that nobody waits for its locks. */
const BATCH = 100

/**
 * Runs the follow-ups of many events again. Each batch is committed by itself: stopped or failed in the
 * middle, what is replayed stays so, and the same call does the rest.
 *
 * @param options.signal stops it after the batch under way.
 * @param options.progress is told after each batch.
 */
export async function replayMany(
  deps: OperatorDeps,
  filter: EventFilter,
  options: {
    reviver: Reviver
    signal?: AbortSignal
    progress?: (report: ReplayReport) => void
  },
): Promise<ReplayReport> {
  const what = filter.state === 'done' ? 'forced' : 'replay'
  let report: ReplayReport = { matched: 0, replayed: 0, leftToSweeper: 0, stopped: false }
  for await (const page of pagesOf(deps.ledger, filter)) {
    for (let from = 0; from < page.length; from += BATCH) {
      if (options.signal?.aborted === true) return { ...report, stopped: true }
      const batch = page.slice(from, from + BATCH)
      const keys = batch.map(({ dedupeKey }) => dedupeKey)
      const revived = new Set(await replayEvents(deps.ledger, what, keys, options.reviver))
      const events = batch.filter(({ dedupeKey }) => revived.has(dedupeKey))
      // Once Redis has failed each further try would only wait for it.
      const enqueued = report.leftToSweeper === 0 && (await enqueueNow(deps, events))
      report = {
        matched: report.matched + batch.length,
        replayed: report.replayed + events.length,
        leftToSweeper: report.leftToSweeper + (enqueued ? 0 : events.length),
        stopped: false,
      }
      options.progress?.(report)
    }
  }
  return report
}
