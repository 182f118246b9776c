import { Gauge } from 'prom-client'
import {
  countOpen,
  countQuarantine,
  countUnsettledIntents,
  type Ledger,
  type OpenEvents,
} from '../ledger/index.ts'
import type { Events } from './events.ts'
import type { Metrics } from './metrics.ts'

/** How long one look at the ledger serves: scrapers of many kinds must not become many queries. */
const CACHE_MS = 5000
const STATES = ['claimed', 'dead'] as const
const STATUSES = ['ERROR', 'OK'] as const

/**
 * Adds what the ledger says now: events claimed and dead, the age of the oldest, and the quarantine.
 * While the ledger cannot be read the values are absent or not a number, since an old one would look like a quiet system.
 */
export function ledgerGauges(
  metrics: Metrics,
  ledger: Ledger,
  events: Events,
  now: () => number,
): void {
  const look = cached(
    () => Promise.all([countOpen(ledger), countQuarantine(ledger), countUnsettledIntents(ledger)]),
    now,
  )
  const registers = [metrics]
  const read = () =>
    look().catch((error: unknown) => {
      events.emit('background:error', { where: 'metrics', error: error as Error })
      return null
    })

  const open = (name: string, help: string, value: (open?: OpenEvents) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['state', 'status'],
      registers,
      async collect() {
        const seen = await read()
        this.reset()
        if (seen === null) return
        for (const state of STATES) {
          for (const status of STATUSES) {
            const found = seen[0].find((row) => row.state === state && row.status === status)
            this.set({ state, status }, value(found))
          }
        }
      },
    })
  open('sume_events', 'Events that are not done, by state and status.', (row) => row?.events ?? 0)
  open(
    'sume_events_oldest_seconds',
    'Age of the oldest event that is not done, by state and status; 0 where there is none.',
    (row) => row?.oldestS ?? 0,
  )
  void new Gauge({
    name: 'sume_quarantined_bodies',
    help: 'Distinct bodies in quarantine.',
    registers,
    async collect() {
      const seen = await read()
      this.set(seen === null ? NaN : seen[1].reduce((sum, { bodies }) => sum + bodies, 0))
    },
  })
  void new Gauge({
    name: 'sume_intents',
    help: 'Intents whose event has not come, by state.',
    labelNames: ['state'],
    registers,
    async collect() {
      const seen = await read()
      this.reset()
      for (const { state, intents } of seen?.[2] ?? []) this.set({ state }, intents)
    },
  })
}

/** One call of `load` for all that ask within a while. */
function cached<T>(load: () => Promise<T>, now: () => number): () => Promise<T> {
  let kept: { until: number; value: Promise<T> } | undefined
  return () => {
    if (kept === undefined || kept.until <= now()) kept = { until: now() + CACHE_MS, value: load() }
    return kept.value
  }
}
