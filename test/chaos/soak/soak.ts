import { setTimeout as sleep } from 'node:timers/promises'
import { openSandbox, readMetrics } from '@sume-inbox/testing'
import { atRest, violations } from '../invariants.ts'
import { leaseSteps } from '../ledger-log.ts'
import type { Member } from '../member.ts'
import { openOwnServers } from '../own-servers.ts'
import { openSystem, type System } from '../system.ts'
import { faultsFor, makeFaults } from './faults.ts'
import { planFault } from './plan.ts'
import { type Crash, slowestRetry } from './slowest-retry.ts'
import { intentSource, webhookSource } from './sources.ts'

export interface SoakOptions {
  /** At least so many events, and at least one fault of each kind. */
  readonly events: number
  /** Decides which faults come when, and for how long. */
  readonly seed: string
  /** Between the beginnings of two faults. */
  readonly everyMs: number
  readonly perSecond: number
  readonly source: 'webhooks' | 'intents'
  /** Ends the load early; what was begun is still checked. */
  readonly signal?: AbortSignal
  readonly say: (line: string) => void
}

export interface SoakReport {
  readonly events: number
  /** How often each kind was made. */
  readonly faults: ReadonlyMap<string, number>
  /** What the source has to tell, and the counters of all processes, as far as they could be read. */
  readonly figures: ReadonlyMap<string, number>
  readonly loadMs: number
  /** From the last event, with everything mended, until nothing was left to do. */
  readonly drainMs: number
  /** From the kill of a worker to the next attempt of an event that it held; `null` when no killed one held any. */
  readonly slowestRetryMs: number | null
  /** What should not be; empty when every promise was kept. */
  readonly wrong: readonly string[]
}

const RECEIVERS = 2
const WORKERS = 3
/** Above the two minutes that a submit's lease holds. */
const REST_MS = 600_000

/** Load and faults at once on servers of its own, then everything mended, and every promise looked at. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { say } = options
  await using stack = new AsyncDisposableStack()
  const servers = await openOwnServers(say)
  stack.defer(() => servers.close())
  const sandbox = options.source === 'intents' ? stack.use(await openSandbox()) : undefined
  const calls =
    sandbox === undefined
      ? {}
      : {
          SUME_API_URL: sandbox.url,
          SUME_API_KEY: 'any',
          SUBMIT_PER_SECOND: '200',
          SUBMIT_CONCURRENCY: '16',
          RECONCILE_AFTER_MS: '5000',
          RECONCILE_PER_SECOND: '200',
        }
  const system = stack.use(await openSystem(servers, { LOG_LEVEL: 'info', ...calls }))
  const receivers = await Promise.all(
    Array.from({ length: RECEIVERS }, () => system.start('receiver')),
  )
  await Promise.all(Array.from({ length: WORKERS }, () => system.start('worker')))

  const crashes: Crash[] = []
  const counters = new Map<string, number>()
  const scene = {
    system,
    servers,
    sandbox,
    async beforeKill(member: Member) {
      await addCounters(counters, member)
      if (member.app === 'worker') crashes.push({ pid: member.pid(), at: Date.now() })
    },
  }
  const kinds = faultsFor(options.source)
  const maker = makeFaults(scene, kinds)
  const sourceOptions = {
    system,
    urls: () => receivers.map((receiver) => receiver.url()),
    perSecond: options.perSecond,
  }
  const source =
    sandbox === undefined ? webhookSource(sourceOptions) : intentSource(sandbox, sourceOptions)

  const start = performance.now()
  const made = new Map<string, number>()
  let faults = 0
  const over = new AbortController()
  const stopping = AbortSignal.any([over.signal, ...(options.signal ? [options.signal] : [])])
  const makeInTurn = async () => {
    for (; ; faults++) {
      const dueMs = start + (faults + 1) * options.everyMs - performance.now()
      await sleep(Math.max(dueMs, 0), undefined, {
        signal: stopping,
      })
      const planned = planFault(options.seed, faults, kinds)
      const on = await maker.make(planned)
      made.set(planned.name, (made.get(planned.name) ?? 0) + 1)
      const at = ((performance.now() - start) / 1000).toFixed(1)
      const forHowLong = planned.ms === 0 ? '' : ` for ${(planned.ms / 1000).toFixed(1)} s`
      say(
        `${at.padStart(7)} s  ${String(source.made()).padStart(7)} events  ${planned.name} (${on})${forHowLong}`,
      )
    }
  }
  const enough = (events: number) => events >= options.events && faults >= kinds.length
  const [loaded, faulted] = await Promise.allSettled([
    source.run((begun) => !stopping.aborted && !enough(begun)).finally(() => over.abort()),
    makeInTurn().catch((error: unknown) => {
      const asked = stopping.aborted
      over.abort()
      if (!asked) throw error
    }),
  ])
  if (loaded.status === 'rejected') throw loaded.reason
  if (faulted.status === 'rejected') throw faulted.reason
  await maker.mended()
  const events = loaded.value
  const loadMs = performance.now() - start
  say(`everything is mended; waiting for ${events} events to come to rest`)

  const restFrom = performance.now()
  const wrong: string[] = []
  try {
    await source.settled(REST_MS)
    await atRest(system, REST_MS)
  } catch (error) {
    wrong.push(error instanceof Error ? error.message : String(error))
  }
  const drainMs = performance.now() - restFrom
  wrong.push(...(await violations(system, source.accepted)), ...(await source.violations()))
  for (const member of system.members) await addCounters(counters, member)
  const steps = await leaseSteps(system.database)
  for (const line of await storiesOf(system, wrong)) say(line)
  return {
    events,
    faults: made,
    figures: new Map([
      ...Object.entries(await source.figures()),
      ...[...counters].toSorted(([one], [other]) => one.localeCompare(other)),
    ]),
    loadMs,
    drainMs,
    slowestRetryMs: slowestRetry(steps, crashes),
    wrong,
  }
}

const COUNTERS = /^sume_(?:deliveries|attempts|swept|leases_lost|enqueue_failures)_total/u

/** Adds what a process has counted; nothing when it cannot tell just now. */
async function addCounters(sums: Map<string, number>, member: Member): Promise<void> {
  const samples = await readMetrics(member.internalUrl()).catch(() => new Map<string, number>())
  for (const [name, value] of samples) {
    if (COUNTERS.test(name) && value > 0) sums.set(name, (sums.get(name) ?? 0) + value)
  }
}

const STORIES = 5

/** What MySQL saw of the first events that something is wrong with. */
async function storiesOf(system: System, wrong: readonly string[]): Promise<string[]> {
  if (wrong.length === 0) return []
  const keys = new Set(wrong.map((line) => line.split(': ')[0]))
  const chosen = [...keys].slice(0, STORIES)
  return (await leaseSteps(system.database))
    .filter(({ dedupe_key }) => chosen.includes(dedupe_key))
    .map(
      ({ dedupe_key, step, attempt, pid, at }) =>
        `${dedupe_key}: ${at.toISOString()} ${step} of attempt ${attempt} by ${pid}`,
    )
}
