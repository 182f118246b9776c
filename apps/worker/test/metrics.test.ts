import { quarantineBody } from '@sume-inbox/shared/ledger'
import { readMetrics } from '@sume-inbox/testing'
import { expect, test } from 'vitest'
import { openBench } from './harness.ts'

test('attempts are counted by outcome, and what is open, its age and the queue are told as they are now', async () => {
  await using bench = await openBench()
  const worker = await bench.startWorker(
    {
      'job.completed': () => undefined,
      'job.failed': (_event, ctx) => ctx.discard('not of interest'),
    },
    { SWEEP_EVERY_MS: '100' },
  )
  const ended = await bench.add()
  await bench.reached(ended, 'done')
  const dead = await bench.add({ event: 'job.failed', status: 'ERROR' })
  await bench.reached(dead, 'dead')
  // Committed and never enqueued: a sweep puts it back.
  const lost = await bench.record({ graceMs: 0 })
  await bench.reached(lost, 'done')
  await quarantineBody(bench.ledger, Buffer.from('no event'), 'not JSON')
  const far = await bench.record({ graceMs: 3_600_000 })
  await bench.rows(
    'UPDATE sume_events SET first_seen = first_seen - INTERVAL 100 SECOND WHERE dedupe_key = ?',
    [far],
  )

  await expect
    .poll(async () =>
      (await readMetrics(worker.internalUrl)).get('sume_attempts_total{outcome="done"}'),
    )
    .toBe(2)
  const metrics = await readMetrics(worker.internalUrl)
  expect(metrics.get('sume_attempts_total{outcome="dead"}')).toBe(1)
  expect(metrics.get('sume_attempt_duration_seconds_count')).toBe(3)
  expect(metrics.get('sume_swept_total{lost="missing"}')).toBe(1)
  expect(metrics.get('sume_events{state="claimed",status="OK"}')).toBe(1)
  expect(metrics.get('sume_events{state="claimed",status="ERROR"}')).toBe(0)
  expect(metrics.get('sume_events{state="dead",status="ERROR"}')).toBe(1)
  const oldest = metrics.get('sume_events_oldest_seconds{state="claimed",status="OK"}')
  expect(oldest).toBeGreaterThanOrEqual(100)
  expect(oldest).toBeLessThan(200)
  expect(metrics.get('sume_quarantined_bodies')).toBe(1)
  expect(metrics.get('sume_queue_jobs{state="failed"}')).toBe(1)
  expect(metrics.get('sume_queue_jobs{state="waiting"}')).toBe(0)
  expect(metrics.get('sume_service_runs_total{service="sweeper",outcome="ran"}')).toBeGreaterThan(0)
})

test('while MySQL is away what it would tell is no number, and the rest is still told', async () => {
  await using bench = await openBench()
  const worker = await bench.startWorker({ '*': () => undefined })
  const before = await readMetrics(worker.internalUrl)
  expect(before.get('sume_quarantined_bodies')).toBe(0)
  await bench.rows('RENAME TABLE sume_events TO sume_events_away')
  await expect
    .poll(async () => (await readMetrics(worker.internalUrl)).get('sume_quarantined_bodies'), {
      timeout: 15_000,
    })
    .toBeNaN()
  const metrics = await readMetrics(worker.internalUrl)
  expect([...metrics.keys()].filter((name) => name.startsWith('sume_events'))).toEqual([])
  expect(metrics.get('sume_queue_jobs{state="active"}')).toBe(0)
  await bench.rows('RENAME TABLE sume_events_away TO sume_events')
})
