import { join } from 'node:path'
import { reserve } from '@sume-inbox/shared/intents'
import { type AppProcess, openSandbox, type SandboxProcess, waitFor } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSystem, type System } from './system.ts'

let sandbox: SandboxProcess
beforeAll(async () => {
  sandbox = await openSandbox()
})
afterAll(() => sandbox[Symbol.asyncDispose]())

const FOLLOW_UPS = join(import.meta.dirname, 'fixtures/note.ts')
const JOB = '/v1/video-router/generate'
const RUN = '/v1/formats/f_1/runs'

const settings = (webhookUrl: string) => ({
  SUME_API_URL: sandbox.url,
  SUME_API_KEY: 'any',
  SUME_WEBHOOK_URL: webhookUrl,
  SUBMIT_PER_SECOND: '1000',
  RECONCILE_PER_SECOND: '1000',
  RECONCILE_AFTER_MS: '100',
})

/** Reserves so many submits at once. */
async function reserveAll(
  system: System,
  webhookUrl: string,
  count: number,
  of: (i: number) => { path: string; plan: object },
): Promise<string[]> {
  const keys = Array.from({ length: count }, (_, i) => `order-${i}`)
  for (let from = 0; from < count; from += 50) {
    await Promise.all(
      keys.slice(from, from + 50).map((key, i) => {
        const { path, plan } = of(from + i)
        const body = { model: 'sandbox/video', sandbox: plan }
        return reserve(system.database.ledger, { key, path, body }, { webhookUrl })
      }),
    )
  }
  return keys
}

const count = async (system: System, sql: string): Promise<number> => {
  const [rows] = await system.database.ledger.query(`SELECT COUNT(*) AS n FROM ${sql}`)
  return (rows as unknown as { n: number }[])[0]?.n ?? 0
}

/** Every intent settled and every event followed up, once; one paid job per key. */
async function expectAllOnce(system: System, keys: readonly string[]): Promise<void> {
  const all = keys.length
  await waitFor(
    'every event to be done',
    async () => (await count(system, "sume_events WHERE state = 'done'")) === all,
    90_000,
  )
  await waitFor(
    'every intent to be settled',
    async () => (await count(system, "sume_intents WHERE state = 'settled'")) === all,
    60_000,
  )
  expect(await count(system, 'sume_events')).toBe(all)
  const runs = system.runs()
  expect(runs).toHaveLength(all)
  expect(new Set(runs.map(({ id }) => id)).size).toBe(all)
  const paid = (await sandbox.paid()).filter(({ key }) => keys.includes(key ?? ''))
  expect(new Set(paid.map(({ key }) => key))).toEqual(new Set(keys))
  expect(paid).toHaveLength(all)
}

const reset = () => fetch(`${sandbox.url}/_sandbox/reset`, { method: 'POST' })
const startWorkers = (system: System, webhookUrl: string): Promise<AppProcess[]> =>
  Promise.all([1, 2].map(() => system.start('worker', settings(webhookUrl))))

test('webhooks off entirely: 200 jobs and 50 runs of every outcome reach their follow-up by poll alone', async () => {
  await using system = await openSystem({}, { FOLLOW_UPS })
  await reset()
  const outcomes = ['completed', 'failed', 'canceled', 'content_policy', 'skipped']
  const nobody = 'http://127.0.0.1:9/nobody'
  const keys = await reserveAll(system, nobody, 250, (i) => ({
    path: i < 200 ? JOB : RUN,
    plan: {
      webhook: 'drop',
      run_ms: 50,
      // Only a run can be skipped.
      outcome: i < 200 ? outcomes[i % 4] : outcomes[i % 5],
    },
  }))
  await startWorkers(system, nobody)
  await expectAllOnce(system, keys)
  expect(await count(system, "sume_events WHERE source = 'poll' AND deliveries = 0")).toBe(250)
  const [rows] = await system.database.ledger.query(
    'SELECT event, COUNT(*) AS n FROM sume_events GROUP BY event ORDER BY event',
  )
  expect(rows).toEqual([
    { event: 'job.canceled', n: 50 },
    { event: 'job.completed', n: 50 },
    { event: 'job.failed', n: 100 },
    { event: 'run.canceled', n: 10 },
    { event: 'run.completed', n: 10 },
    { event: 'run.failed', n: 20 },
    { event: 'run.skipped', n: 10 },
  ])
})

test('webhooks and polls racing over 1,000 jobs and runs: one row and one follow-up each', async () => {
  await using system = await openSystem({}, { FOLLOW_UPS })
  await reset()
  const receiver = await system.start('receiver')
  const webhookUrl = `${receiver.url}/webhooks/sume`
  const webhooks = ['deliver', 'duplicate', 'delay']
  const keys = await reserveAll(system, webhookUrl, 1000, (i) => ({
    path: i % 2 === 0 ? JOB : RUN,
    // The first question comes 100 ms after the submit, or a round later: some webhooks are faster, some slower.
    plan: { run_ms: 20, webhook: webhooks[i % 3], webhook_delay_ms: (i * 37) % 1500 },
  }))
  await startWorkers(system, webhookUrl)
  await expectAllOnce(system, keys)
  await waitFor(
    'every webhook to be delivered',
    async () => (await count(system, 'sume_events WHERE deliveries > 0')) === 1000,
    60_000,
  )
  expect(await count(system, 'sume_events')).toBe(1000)
  for (const source of ['webhook', 'poll']) {
    for (const kind of ['job', 'run']) {
      const first = await count(
        system,
        `sume_events WHERE source = '${source}' AND kind = '${kind}'`,
      )
      process.stdout.write(`intents: ${first} ${kind}s were known by ${source} first\n`)
      expect(first).toBeGreaterThan(0)
    }
  }
})
