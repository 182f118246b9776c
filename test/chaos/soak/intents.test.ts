import { openSandbox, servers } from '@sume-inbox/testing'
import { expect, test } from 'vitest'
import { openSystem } from '../system.ts'
import { faultsFor } from './faults.ts'
import { reportLines } from './report.ts'
import { soak } from './soak.ts'
import { intentSource } from './sources.ts'

const say = (line: string) => void process.stdout.write(`soak, intents: ${line}\n`)

test('a short soak of paid submits: one paid job per key, and its event done, whatever fails', async () => {
  const report = await soak({
    events: 1000,
    seed: 'short',
    everyMs: 3000,
    perSecond: 20,
    source: 'intents',
    say,
  })
  for (const line of reportLines(report)) say(line)
  expect(report.wrong).toEqual([])
  expect(report.events).toBeGreaterThanOrEqual(1000)
  const kinds = faultsFor('intents').map(({ name }) => name)
  expect([...report.faults.keys()].toSorted()).toEqual(kinds.toSorted())
  expect(report.figures.get('paid jobs and runs')).toBe(report.events)
  expect(report.figures.get('submits tried more than once')).toBeGreaterThan(0)
  expect(report.figures.get('events known by poll first')).toBeGreaterThan(0)
})

test('its check sees an intent without a payment, a payment without an intent, and a missing event', async () => {
  await using sandbox = await openSandbox()
  await using system = await openSystem(servers())
  const source = intentSource(sandbox, {
    system,
    urls: () => ['http://127.0.0.1:9'],
    perSecond: 100,
  })
  await source.run((begun) => begun < 1)
  await fetch(`${sandbox.url}/v1/video-router/generate`, {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/video' }),
  })
  const [paid] = await sandbox.paid()
  expect(await source.violations()).toEqual([
    'soak-0: was paid for 0 times',
    `null: its intent has not the id ${paid?.id}`,
    '1 intents have 0 events',
  ])
})
