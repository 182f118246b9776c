import { expect, test } from 'vitest'
import { every, type Report, type Service } from './service.ts'

/** A service whose runs are decided by the test, and an observer that remembers. */
function bundle(run: (n: number, signal: AbortSignal) => Promise<Report>) {
  const seen: string[] = []
  const waiting: (() => void)[] = []
  const note = (what: string) => {
    seen.push(what)
    for (const wake of waiting.splice(0)) wake()
  }
  let n = 0
  const service: Service = { name: 'toy', everyMs: 1, runOnce: (signal) => run(++n, signal) }
  const running = every(service, { ran: () => note('ran'), failed: () => note('failed') })
  const until = async (count: number) => {
    while (seen.length < count) await new Promise<void>((wake) => waiting.push(wake))
  }
  return { seen, running, until }
}

test('a run that throws is reported, and the service goes on', async () => {
  const { seen, running, until } = bundle((n) =>
    n === 1 ? Promise.reject(new Error('no')) : Promise.resolve({}),
  )
  await until(2)
  await running.stop()
  expect(seen.slice(0, 2)).toEqual(['failed', 'ran'])
})

test('stop tells the run under way, waits for it, and no other begins', async () => {
  let finished = 0
  const started = Promise.withResolvers<void>()
  const { seen, running } = bundle(async (_n, signal) => {
    started.resolve()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    finished++
    return {}
  })
  await started.promise
  await running.stop()
  expect(finished).toBe(1)
  expect(seen).toEqual(['ran'])
})

test('stop before the first run starts nothing, and may be said twice', async () => {
  let runs = 0
  const service: Service = {
    name: 'toy',
    everyMs: 60_000,
    runOnce: () => Promise.resolve({ runs: ++runs }),
  }
  const running = every(service, { ran: () => undefined, failed: () => undefined })
  await running.stop()
  await running.stop()
  expect(runs).toBe(0)
})
