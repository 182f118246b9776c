import { jobId } from '@sume-inbox/shared/queues'
import { waitFor } from '@sume-inbox/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Bench, openBench } from './harness.ts'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench[Symbol.asyncDispose]())

/** Stops the worker before the next test: they share the queue. */
const withWorker = async (
  followUps: Parameters<Bench['startWorker']>[0],
  settings: Record<string, string>,
  body: (worker: Awaited<ReturnType<Bench['startWorker']>>) => Promise<void>,
) => {
  const worker = await bench.startWorker(followUps, settings)
  try {
    await body(worker)
  } finally {
    await worker.stop()
  }
}

describe('what a follow-up returns or throws', () => {
  test('an event whose follow-up returns is done, and its job completes', async () => {
    const got: unknown[] = []
    await withWorker(
      { 'job.completed': (event, ctx) => void got.push(event, ctx.attempt, ctx.maxAttempts) },
      {},
      async () => {
        const key = await bench.add({ result: { artifacts: [] } })
        const row = await bench.reached(key, 'done')
        expect(row).toMatchObject({ attempts: 1, leased_until: null })
        expect(row.done_at).not.toBeNull()
        await waitFor(
          'the job to complete',
          async () => (await bench.jobState(key)) === 'completed',
        )
        expect(got[0]).toMatchObject({
          dedupeKey: key,
          sumeId: key,
          kind: 'job',
          event: 'job.completed',
          status: 'OK',
          deliveries: 1,
          source: 'webhook',
          intent: null,
          payload: { job_id: key, result: { artifacts: [] } },
        })
        expect((got[0] as { raw: string }).raw).toContain(`"job_id":"${key}"`)
        expect(got.slice(1)).toEqual([1, 10])
        expect(await bench.attempts(key)).toEqual([])
      },
    )
  })

  test('one that throws twice is retried by the queue alone and done at attempt 3', async () => {
    await withWorker(
      {
        '*': (_event, { attempt }) => {
          if (attempt < 3) throw new Error(`not yet ${attempt}`)
        },
      },
      {},
      async (worker) => {
        const key = await bench.add()
        const row = await bench.reached(key, 'done')
        expect(row).toMatchObject({ attempts: 3, deliveries: 1, last_error: 'not yet 2' })
        expect(await bench.attempts(key)).toMatchObject([
          { attempt: 1, outcome: 'retry', error: 'not yet 1', worker: 'test:1' },
          { attempt: 2, outcome: 'retry', error: 'not yet 2', worker: 'test:1' },
        ])
        expect(worker.seen('event:swept')).toEqual([])
      },
    )
  })

  test("a retry's delay is one number: due_at, the queue and the report agree", async () => {
    await withWorker(
      {
        '*': () => {
          throw new Error('no')
        },
      },
      { BACKOFF_MS: '60000', ENQUEUE_GRACE_MS: '1000' },
      async (worker) => {
        const key = await bench.add()
        await waitFor('a delayed job', async () => (await bench.jobState(key)) === 'delayed')
        const [settled] = worker.seen('attempt:settled')
        const delayMs = settled?.delayMs ?? 0
        const [job] = await bench.queue.getDelayed()
        expect(delayMs).toBeGreaterThanOrEqual(30_000)
        expect(job?.delay).toBe(delayMs)
        const [attempt] = await bench.attempts(key)
        const endedAt = Number(attempt?.['ended_at'])
        const graceMs = (await bench.row(key)).due_at.getTime() - endedAt - delayMs
        // The two times were taken by two statements.
        expect(Math.abs(graceMs - 1000)).toBeLessThan(900)
        await job?.remove()
      },
    )
  })

  test('one that always throws ends dead with its error, and its job fails for good', async () => {
    await withWorker(
      {
        '*': () => {
          throw new Error('broken for good')
        },
      },
      { MAX_ATTEMPTS: '3' },
      async (worker) => {
        const key = await bench.add()
        const row = await bench.reached(key, 'dead')
        expect(row).toMatchObject({ attempts: 3, last_error: 'broken for good' })
        expect((await bench.attempts(key)).map((a) => a['outcome'])).toEqual([
          'retry',
          'retry',
          'dead',
        ])
        await waitFor('the job to fail', async () => (await bench.jobState(key)) === 'failed')
        expect(worker.seen('attempt:started')).toHaveLength(3)
      },
    )
  })

  test('what is thrown may be anything, and of a long error the beginning is kept', async () => {
    await withWorker(
      {
        'job.completed': () => {
          // eslint-disable-next-line typescript/only-throw-error -- that is what is tested
          throw 'just words'
        },
        'job.failed': () => {
          throw new Error('x'.repeat(1_000_000))
        },
      },
      { MAX_ATTEMPTS: '1' },
      async () => {
        const [words, long] = await Promise.all([bench.add(), bench.add({ event: 'job.failed' })])
        expect(await bench.reached(words, 'dead')).toMatchObject({ last_error: 'just words' })
        const { last_error } = await bench.reached(long, 'dead')
        expect(last_error).toMatch(/^x{3999}…$/)
      },
    )
  })

  test('a snooze uses up no attempt', async () => {
    let runs = 0
    await withWorker(
      { '*': (_event, ctx) => (++runs <= 2 ? ctx.snooze(10) : undefined) },
      { MAX_ATTEMPTS: '1' },
      async (worker) => {
        const key = await bench.add()
        expect(await bench.reached(key, 'done')).toMatchObject({ attempts: 1, snoozes: 2 })
        expect(runs).toBe(3)
        expect((await bench.attempts(key)).map((a) => a['outcome'])).toEqual(['snooze', 'snooze'])
        await waitFor(
          'the job to complete',
          async () => (await bench.jobState(key)) === 'completed',
        )
        expect((await bench.queue.getJob(jobId(key)))?.attemptsMade).toBe(1)
        // A job that was moved on and then failed as well would be a "missing lock" here.
        expect(worker.seen('background:error')).toEqual([])
      },
    )
  })

  test('endless snoozing (an upstream that answers 429 for ever) ends dead after both bounds', async () => {
    let runs = 0
    await withWorker(
      {
        '*': (_event, ctx) => {
          runs++
          return ctx.snooze(1)
        },
      },
      { MAX_SNOOZES: '3', MAX_ATTEMPTS: '2' },
      async () => {
        const key = await bench.add()
        const row = await bench.reached(key, 'dead')
        expect(row).toMatchObject({ attempts: 2, snoozes: 3 })
        expect(row.last_error).toBe('snoozed 3 times, which is the most allowed')
        expect(runs).toBe(5)
      },
    )
  })

  test('an outcome made by hand with an impossible delay counts as a throw', async () => {
    await withWorker(
      { '*': () => ({ outcome: 'snooze', ms: Number.NaN }) as const },
      { MAX_ATTEMPTS: '1' },
      async () => {
        const key = await bench.add()
        expect((await bench.reached(key, 'dead')).last_error).toContain('snooze takes milliseconds')
      },
    )
  })

  test('a discard is dead at once, with its reason', async () => {
    await withWorker({ '*': (_event, ctx) => ctx.discard('not ours') }, {}, async () => {
      const key = await bench.add()
      expect(await bench.reached(key, 'dead')).toMatchObject({
        attempts: 1,
        last_error: 'not ours',
      })
      await waitFor('the job to fail', async () => (await bench.jobState(key)) === 'failed')
      // At once: the queue has nine more attempts to give.
      expect((await bench.queue.getJob(jobId(key)))?.attemptsMade).toBe(1)
    })
  })

  test('an event that no entry matches is dead at once and says so', async () => {
    await withWorker({ 'job.failed': () => undefined }, {}, async () => {
      const key = await bench.add()
      const row = await bench.reached(key, 'dead')
      expect(row.attempts).toBe(1)
      expect(row.last_error).toContain("no follow-up matches 'job.completed'")
    })
  })

  test('anything else that is returned counts as done', async () => {
    await withWorker(
      { '*': () => Promise.resolve({ outcome: 'great' } as never) },
      {},
      async () => {
        const key = await bench.add()
        expect(await bench.reached(key, 'done')).toMatchObject({ attempts: 1 })
      },
    )
  })

  test('a payload that is not JSON to us ends dead without being quoted', async () => {
    await withWorker({ '*': () => undefined }, { MAX_ATTEMPTS: '1' }, async () => {
      const key = await bench.record()
      await bench.rows("UPDATE sume_events SET payload = 'my secret prompt' WHERE dedupe_key = ?", [
        key,
      ])
      await bench.enqueue(key)
      expect(await bench.reached(key, 'dead')).toMatchObject({
        last_error: 'the payload is not JSON',
      })
    })
  })
})

describe('ctx.complete', () => {
  const effect = (key: string) => bench.rows('SELECT * FROM effects WHERE id = ?', [key])
  const write = 'INSERT INTO effects (id) VALUES (?)'

  test('writes together with done; what the follow-up does afterwards changes nothing', async () => {
    await withWorker(
      {
        '*': async (event, ctx) => {
          const result = await ctx.complete(async (tx) => {
            await tx.execute(write, [event.dedupeKey])
            return 'written'
          })
          throw new Error(result)
        },
      },
      {},
      async (worker) => {
        const key = await bench.add()
        expect(await bench.reached(key, 'done')).toMatchObject({ attempts: 1, last_error: null })
        await waitFor(
          'the job to complete',
          async () => (await bench.jobState(key)) === 'completed',
        )
        expect(await effect(key)).toHaveLength(1)
        expect(worker.seen('attempt:refused')).toEqual([])
      },
    )
  })

  test('whose work throws leaves neither the write nor done', async () => {
    await withWorker(
      {
        '*': (event, ctx) =>
          ctx.complete(async (tx) => {
            await tx.execute(write, [event.dedupeKey])
            throw new Error('changed my mind')
          }),
      },
      { MAX_ATTEMPTS: '2' },
      async () => {
        const key = await bench.add()
        const row = await bench.reached(key, 'dead')
        expect(row).toMatchObject({ attempts: 2, last_error: 'changed my mind', done_at: null })
        expect(await effect(key)).toEqual([])
      },
    )
  })

  test('may be called once in an attempt', async () => {
    let second: unknown
    await withWorker(
      {
        '*': async (event, ctx) => {
          await ctx.complete((tx) => tx.execute(write, [event.dedupeKey]))
          second = await ctx.complete((tx) => tx.execute(write, ['x'])).catch((e: unknown) => e)
        },
      },
      {},
      async (worker) => {
        const key = await bench.add()
        await waitFor('the report', () => worker.seen('attempt:settled').length === 1)
        expect(second).toMatchObject({ code: 'ALREADY_COMPLETED' })
        expect(await bench.row(key)).toMatchObject({ state: 'done' })
        expect(await effect('x')).toEqual([])
      },
    )
  })

  test('that nobody waits for still decides how the attempt ends', async () => {
    await withWorker(
      {
        '*': (event, ctx) => {
          void ctx.complete(async (tx) => {
            await tx.query('SELECT SLEEP(0.1)')
            await tx.execute(write, [event.dedupeKey])
            if (ctx.attempt === 1) throw new Error('too bad')
          })
        },
      },
      {},
      async () => {
        const key = await bench.add()
        expect(await bench.reached(key, 'done')).toMatchObject({
          attempts: 2,
          last_error: 'too bad',
        })
        expect(await effect(key)).toHaveLength(1)
      },
    )
  })
})
