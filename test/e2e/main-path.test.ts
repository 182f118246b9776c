import { deliver, jobBody } from '@sume-inbox/testing'
import { expect, test } from 'vitest'
import { openSystem } from './system.ts'

/** Submits a job to the sandbox. @returns its id. */
async function submit(
  sandboxUrl: string,
  receiverUrl: string,
  sandbox: Record<string, unknown>,
): Promise<string> {
  const response = await fetch(`${sandboxUrl}/v1/image-router/generate`, {
    method: 'POST',
    headers: { authorization: 'Bearer any-key', 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sandbox/image',
      prompt: 'a kite',
      mode: 'webhook',
      webhook_url: `${receiverUrl}/webhooks/sume`,
      sandbox: { run_ms: 50, ...sandbox },
    }),
  })
  const answer = (await response.json()) as { data: { request_id: string } }
  expect(response.ok, JSON.stringify(answer)).toBe(true)
  return answer.data.request_id
}

/** How often the sandbox has sent this job's webhook. */
async function sent(sandboxUrl: string, id: string): Promise<number> {
  const response = await fetch(`${sandboxUrl}/_sandbox/jobs/${id}`)
  const answer = (await response.json()) as { data: { deliveries: unknown[] } }
  return answer.data.deliveries.length
}

test('paid jobs end at the sandbox and are followed up once, however often they are delivered', async () => {
  await using system = await openSystem()
  const sandbox = await system.start('sandbox')
  const receiver = await system.start('receiver')
  await system.start('worker')
  const once = await submit(sandbox.url, receiver.url, {})
  const twice = await submit(sandbox.url, receiver.url, { webhook: 'duplicate' })
  await system.reached(once, 'done')
  await system.reached(twice, 'done')
  const redelivered = await fetch(`${sandbox.url}/_sandbox/jobs/${once}/redeliver`, {
    method: 'POST',
  })
  expect(redelivered.ok).toBe(true)
  await expect.poll(async () => (await system.reached(once, 'done'))?.deliveries).toBe(2)
  await expect.poll(async () => (await system.reached(twice, 'done'))?.deliveries).toBe(2)
  expect(system.runs(once)).toHaveLength(1)
  expect(system.runs(twice)).toHaveLength(1)
})

test('a follow-up that throws twice is retried by the queue alone and ends done with attempts 3', async () => {
  await using system = await openSystem()
  const sandbox = await system.start('sandbox')
  const receiver = await system.start('receiver')
  // No sweep comes in time: what brings the event back is the queue.
  await system.start('worker', { SWEEP_EVERY_MS: '600000', ENQUEUE_GRACE_MS: '600000' })
  const id = await submit(sandbox.url, receiver.url, { outcome: 'failed' })
  expect(await system.reached(id, 'done')).toMatchObject({
    attempts: 3,
    deliveries: 1,
    status: 'ERROR',
  })
  expect(system.runs(id).map((run) => run.attempt)).toEqual([1, 2, 3])
  expect(await sent(sandbox.url, id)).toBe(1)
})

test('a follow-up that always throws ends dead with its error after its attempts', async () => {
  await using system = await openSystem()
  const receiver = await system.start('receiver')
  await system.start('worker', { MAX_ATTEMPTS: '3' })
  const { jobId, body } = jobBody({ event: 'job.canceled', status: 'ERROR' })
  expect((await deliver(receiver.url, body)).answer).toEqual({ receipt: 'accepted' })
  expect(await system.reached(jobId, 'dead')).toMatchObject({ attempts: 3, last_error: 'always' })
})

test('every process stops on SIGTERM with exit code 0 and no event is lost', async () => {
  await using system = await openSystem()
  const sandbox = await system.start('sandbox')
  const receiver = await system.start('receiver')
  const worker = await system.start('worker')
  const bodies = Array.from({ length: 50 }, () => jobBody())
  await Promise.all(bodies.map(({ body }) => deliver(receiver.url, body)))
  expect(await Promise.all([worker.stop(), receiver.stop(), sandbox.stop()])).toEqual([0, 0, 0])
  await system.start('worker')
  for (const { jobId } of bodies) await system.reached(jobId, 'done')
  expect(new Set(system.runs().map((run) => run.id)).size).toBe(50)
})
