import { setTimeout as sleep } from 'node:timers/promises'
import { reserve } from '@sume-inbox/shared/intents'
import { type SandboxProcess, waitFor } from '@sume-inbox/testing'
import type { Accepted } from '../invariants.ts'
import { load, makeSender } from '../sender.ts'
import type { System } from '../system.ts'

/** Where a soak's events come from. */
export interface Source {
  /** Makes events at its pace until `more` says that it is enough. */
  run(more: (made: number) => boolean): Promise<number>
  /** Made so far. */
  made(): number
  /** What Sume was promised. */
  readonly accepted: Accepted
  /** Waits until nothing more will come of it. */
  settled(timeoutMs: number): Promise<void>
  /** What is wrong with its side of it, a line each. */
  violations(): Promise<string[]>
  /** What it has to tell, for the report. */
  figures(): Promise<Record<string, number>>
}

export interface SourceOptions {
  readonly system: System
  /** The receivers' addresses at this moment. */
  readonly urls: () => readonly string[]
  readonly perSecond: number
}

/** Enough to keep the pace while some wait for a fault to pass. */
const CALLERS = 60

/** What the follow-ups of an event do, by its number. */
function planned(i: number): { do: string; ms?: number } {
  if (i % 20 === 3) return { do: 'throw, once' }
  if (i % 20 === 7) return { do: 'return' }
  if (i % 5 === 1) return { do: 'take a while', ms: (i % 10) * 100 }
  return { do: 'complete' }
}

/** Webhooks straight to the receivers, each until it gets a 2xx; 20 % are delivered twice. */
export function webhookSource({ urls, perSecond }: Omit<SourceOptions, 'system'>): Source {
  const sender = makeSender(urls)
  return {
    run: (more) => load(sender, { callers: CALLERS, perSecond, more, fields: planned }),
    made: () => sender.accepted.size,
    accepted: sender.accepted,
    settled: async () => undefined,
    violations: async () => [],
    figures: async () =>
      Object.fromEntries(
        [...sender.tries]
          .toSorted(([one], [other]) => one.localeCompare(other))
          .map(([status, times]) => [`tries answered ${status}`, times]),
      ),
  }
}

/** What Sume does with a submit, by its number: 10 % of the webhooks never come, 20 % come twice. */
function sandboxPlan(i: number): object {
  const webhook = i % 10 === 4 ? 'drop' : i % 5 === 2 ? 'duplicate' : 'deliver'
  const outcome = i % 25 === 6 ? 'canceled' : i % 25 === 8 ? 'failed' : 'completed'
  return { webhook, outcome, run_ms: 50 + (i % 20) * 50 }
}

/** Paid submits, written down as an application does, again where the ledger cannot be reached. */
export function intentSource(sandbox: SandboxProcess, options: SourceOptions): Source {
  const { system, urls, perSecond } = options
  const { ledger } = system.database
  const keys: string[] = []

  async function reserveOne(i: number): Promise<void> {
    const key = `soak-${i}`
    const all = urls()
    const intent = {
      key,
      path: i % 2 === 0 ? '/v1/video-router/generate' : '/v1/formats/f_1/runs',
      body: { model: 'sandbox/video', sandbox: sandboxPlan(i) },
    }
    const webhookUrl = `${all[i % all.length]}/webhooks/sume`
    await waitFor(
      `the intent ${key} to be written`,
      () => reserve(ledger, intent, { webhookUrl }).then(() => true),
      180_000,
    )
    keys.push(key)
  }

  const count = async (sql: string): Promise<number> => {
    const [rows] = await ledger.query(`SELECT COUNT(*) AS n FROM ${sql}`)
    return (rows as unknown as { n: number }[])[0]?.n ?? 0
  }

  return {
    async run(more) {
      const start = performance.now()
      let begun = 0
      const caller = async () => {
        while (more(begun)) {
          const i = begun++
          const early = start + (i * 1000) / perSecond - performance.now()
          if (early > 0) await sleep(early)
          await reserveOne(i)
        }
      }
      await Promise.all(Array.from({ length: CALLERS }, caller))
      return begun
    },
    made: () => keys.length,
    // Sume's side of it is the sandbox, which has no promises to remember.
    accepted: new Map(),
    async settled(timeoutMs) {
      await waitFor(
        'every intent to be settled',
        async () => (await count("sume_intents WHERE state <> 'settled'")) === 0,
        timeoutMs,
      )
    },
    async violations() {
      const paid = await sandbox.paid()
      const times = new Map<string, number>()
      for (const { key } of paid) times.set(String(key), (times.get(String(key)) ?? 0) + 1)
      const [rows] = await ledger.query('SELECT idempotency_key, sume_id FROM sume_intents')
      const intents = rows as unknown as { idempotency_key: string; sume_id: string | null }[]
      const ids = new Map(intents.map((intent) => [intent.idempotency_key, intent.sume_id]))
      return [
        ...keys.flatMap((key) => [
          ...(times.get(key) === 1 ? [] : [`${key}: was paid for ${times.get(key) ?? 0} times`]),
          ...(ids.has(key) ? [] : [`${key}: was written down, and is lost`]),
        ]),
        ...paid
          .filter(({ key, id }) => ids.get(String(key)) !== id)
          .map(({ key, id }) => `${String(key)}: its intent has not the id ${id}`),
        ...((await count('sume_events')) === keys.length
          ? []
          : [`${keys.length} intents have ${await count('sume_events')} events`]),
      ]
    },
    figures: async () => ({
      'paid jobs and runs': (await sandbox.paid()).length,
      'submits tried more than once': await count('sume_intents WHERE attempts > 1'),
      'events known by webhook first': await count("sume_events WHERE source = 'webhook'"),
      'events known by poll first': await count("sume_events WHERE source = 'poll'"),
    }),
  }
}
