import { expect, test } from 'vitest'
import { faultsFor } from './faults.ts'
import { reportLines } from './report.ts'
import { soak } from './soak.ts'

const say = (line: string) => void process.stdout.write(`soak, webhooks: ${line}\n`)

test('a short soak: every fault once under load, nothing lost, nothing doubled, and every crash made good within a minute', async () => {
  const report = await soak({
    events: 2000,
    seed: 'short',
    everyMs: 3000,
    perSecond: 40,
    source: 'webhooks',
    say,
  })
  for (const line of reportLines(report)) say(line)
  expect(report.wrong).toEqual([])
  expect(report.events).toBeGreaterThanOrEqual(2000)
  const kinds = faultsFor('webhooks').map(({ name }) => name)
  expect([...report.faults.keys()].toSorted()).toEqual(kinds.toSorted())
  // Faults were felt, or nothing was shown by this.
  expect(report.figures.get('tries answered 503')).toBeGreaterThan(0)
  expect(report.figures.get('sume_swept_total{lost="missing"}')).toBeGreaterThan(0)
  expect(report.slowestRetryMs ?? 0).toBeLessThan(60_000)
})
