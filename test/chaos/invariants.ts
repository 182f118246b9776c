import { waitFor } from '@sume-inbox/testing'
import { leaseSteps } from './ledger-log.ts'
import type { System } from './system.ts'

/** What Sume was told of each event that it got a 2xx for: how often it was the first. */
export type Accepted = ReadonlyMap<string, { readonly firsts: number }>

interface Row {
  readonly dedupe_key: string
  readonly state: string
  /** What the follow-up was told to do. */
  readonly told: string | null
}

/**
 * The whole ledger, when everything has come to rest.
 *
 * @returns a line for each thing that should not be; none when all promises were kept.
 */
export async function violations(system: System, accepted: Accepted): Promise<string[]> {
  const [rows] = await system.database.ledger.query(
    "SELECT dedupe_key, state, JSON_UNQUOTE(JSON_EXTRACT(payload, '$.do')) AS told FROM sume_events",
  )
  const events = rows as unknown as Row[]
  const [written] = await system.database.ledger.query(
    'SELECT dedupe_key, COUNT(*) AS times FROM effects GROUP BY dedupe_key',
  )
  const effects = new Map(
    (written as unknown as { dedupe_key: string; times: number }[]).map((row) => [
      row.dedupe_key,
      row.times,
    ]),
  )
  return [
    ...withoutRow(events, accepted),
    ...withWrongEnd(events),
    ...withWrongEffects(events, effects),
    ...(await withWrongRuns(system, events)),
    ...(await leftInQueue(system)),
  ]
}

/** Every accepted delivery has its row (the primary key allows no second one), and was a first one at most once. */
function withoutRow(events: readonly Row[], accepted: Accepted): string[] {
  const keys = new Set(events.map((event) => event.dedupe_key))
  return [...accepted].flatMap(([key, { firsts }]) => [
    ...(keys.has(key) ? [] : [`${key}: was accepted, and is lost`]),
    ...(firsts > 1 ? [`${key}: ${firsts} deliveries were told that they were the first`] : []),
  ])
}

/** Every row is done or dead. */
const withWrongEnd = (events: readonly Row[]): string[] =>
  events
    .filter(({ state }) => state !== 'done' && state !== 'dead')
    .map(({ dedupe_key, state }) => `${dedupe_key}: is still ${state}`)

/** Every effect made through `complete` exists exactly once, and together with `done`. */
function withWrongEffects(events: readonly Row[], effects: ReadonlyMap<string, number>): string[] {
  return events.flatMap(({ dedupe_key, state, told }) => {
    const wanted = state === 'done' && told !== 'return' ? 1 : 0
    const found = effects.get(dedupe_key) ?? 0
    return found === wanted
      ? []
      : [`${dedupe_key}: is ${state}, and has ${found} effects instead of ${wanted}`]
  })
}

/**
 * Every follow-up ran at least once, each run by a claim of its own, and no claim was given while another
 * attempt's lease was valid.
 */
async function withWrongRuns(system: System, events: readonly Row[]): Promise<string[]> {
  const found: string[] = []
  const claims = new Map<string, number>()
  for (const { dedupe_key, step, attempt, pid, beside } of await leaseSteps(system.database)) {
    if (step !== 'claim') continue
    const claim = `${dedupe_key} ${attempt} ${pid}`
    claims.set(claim, (claims.get(claim) ?? 0) + 1)
    if (beside === 1) found.push(`${dedupe_key}: attempt ${attempt} began beside a valid lease`)
  }
  const ran = new Set<string>()
  for (const { key, attempt, pid } of system.runs.started()) {
    ran.add(key)
    const claim = `${key} ${attempt} ${pid}`
    const left = claims.get(claim) ?? 0
    if (left === 0) found.push(`${key}: process ${pid} ran attempt ${attempt} without a claim`)
    claims.set(claim, left - 1)
  }
  for (const { dedupe_key } of events) {
    if (!ran.has(dedupe_key)) found.push(`${dedupe_key}: its follow-up never ran`)
  }
  return found
}

/** Nothing waits, runs or is delayed. A failed job stays for a dead event's Retry. */
async function leftInQueue(system: System): Promise<string[]> {
  const counts = await system.queue.getJobCounts('wait', 'prioritized', 'active', 'delayed')
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `the queue has ${count} jobs ${state}`)
}

/**
 * Waits until nothing is claimed any more and the queue is empty.
 *
 * @returns after how many milliseconds.
 */
export async function atRest(system: System, timeoutMs: number): Promise<number> {
  const start = performance.now()
  const { ledger } = system.database
  await waitFor(
    'every event to be done or dead',
    async () => {
      const [rows] = await ledger.query(
        "SELECT 1 FROM sume_events WHERE state = 'claimed' AND urgent IN (0, 1) LIMIT 1",
      )
      return (rows as unknown as object[]).length === 0
    },
    timeoutMs,
  )
  await waitFor(
    'the queue to be empty',
    async () => (await leftInQueue(system)).length === 0,
    timeoutMs,
  )
  return performance.now() - start
}
