import { createHmac } from 'node:crypto'
import { TEST_SECRET, waitFor } from '@sume-inbox/testing'
import { expect, test } from 'vitest'
import { type Hook, openCatcher, openSandbox } from './bench.ts'

type Sandbox = Awaited<ReturnType<typeof openSandbox>>

const IMAGE = '/v1/image-router/generate'

async function submit(
  sandbox: Sandbox,
  url: string,
  plan: Record<string, unknown> = {},
  path = IMAGE,
) {
  const { status, body } = await sandbox.call('POST', path, {
    model: 'sandbox/image',
    mode: 'webhook',
    webhook_url: url,
    sandbox: { run_ms: 10, ...plan },
  })
  expect(status, JSON.stringify(body)).toBeLessThan(300)
  return (body.data.run_id ?? body.data.request_id) as string
}

const tries = async (sandbox: Sandbox, id: string) =>
  (await sandbox.call('GET', `/_sandbox/jobs/${id}`)).body.data.deliveries as {
    status: number | null
    redeliver: boolean
  }[]

/** Verifies with node:crypto alone: neither the sandbox's code nor the receiver's. */
function isSigned(hook: Hook): boolean {
  const timestamp = String(hook.headers['x-sume-timestamp'])
  const hex = createHmac('sha256', TEST_SECRET)
    .update(`${timestamp}.`)
    .update(hook.body)
    .digest('hex')
  return hook.headers['x-sume-signature'] === `v1=${hex}` && /^\d{10}$/.test(timestamp)
}

test('a completed job is told with its files, signed with the first secret', async () => {
  await using sandbox = await openSandbox()
  await using catcher = await openCatcher()
  const id = await submit(sandbox, catcher.url)
  const [hook] = await catcher.received(1)
  if (hook === undefined) throw new Error('no webhook')
  expect(isSigned(hook)).toBe(true)
  expect(hook.headers['x-sume-event-id']).toContain(id)
  expect(JSON.parse(hook.body.toString())).toMatchObject({
    event: 'job.completed',
    status: 'OK',
    job_id: id,
    request_id: id,
    result: { artifacts: [{ type: 'image', content_type: 'image/png' }] },
  })
})

test.each([
  ['failed', 'job.failed', 'provider_failed'],
  ['content_policy', 'job.failed', 'content_policy_rejected'],
  ['canceled', 'job.canceled', 'canceled'],
])('a job that ends %s is told as %s with an error', async (outcome, event, code) => {
  await using sandbox = await openSandbox()
  await using catcher = await openCatcher()
  await submit(sandbox, catcher.url, { outcome })
  const [hook] = await catcher.received(1)
  expect(JSON.parse(String(hook?.body))).toMatchObject({ event, status: 'ERROR', error: { code } })
})

test('a run carries its run_id and another request_id; a cancelled or skipped one sends nothing', async () => {
  await using sandbox = await openSandbox()
  await using catcher = await openCatcher()
  const path = '/v1/formats/demo/runs'
  const silent = [
    await submit(sandbox, catcher.url, { outcome: 'canceled' }, path),
    await submit(sandbox, catcher.url, { outcome: 'skipped' }, path),
  ]
  await waitFor('both to end', async () => {
    const states = await Promise.all(silent.map((id) => sandbox.call('GET', `/v1/runs/${id}`)))
    return states.map(({ body }) => body.data.status).join() === 'canceled,skipped'
  })
  const told = await submit(sandbox, catcher.url, {}, path)
  const [hook] = await catcher.received(1)
  const body = JSON.parse(String(hook?.body)) as Record<string, string>
  expect(body).toMatchObject({ event: 'run.completed', run_id: told })
  expect(body['request_id']).toMatch(/^req_/)
  expect(catcher.hooks).toHaveLength(1)
  for (const id of silent) expect(await tries(sandbox, id)).toEqual([])
})

test('a webhook is tried again after anything but a 2xx, and no more after one', async () => {
  await using sandbox = await openSandbox()
  await using catcher = await openCatcher((nth) => [500, 302, 404][nth - 1] ?? 204)
  const id = await submit(sandbox, catcher.url)
  await waitFor('the fourth try', async () => (await tries(sandbox, id)).length === 4)
  expect((await tries(sandbox, id)).map((one) => one.status)).toEqual([500, 302, 404, 204])
  const bodies = new Set(catcher.hooks.map((hook) => hook.body.toString()))
  expect(bodies.size).toBe(1)
  expect(catcher.hooks.every(isSigned)).toBe(true)
})

test('a webhook that nobody takes is tried ten times', async () => {
  await using sandbox = await openSandbox()
  await using catcher = await openCatcher(() => 503)
  const id = await submit(sandbox, catcher.url)
  await waitFor('ten tries', async () => (await tries(sandbox, id)).length === 10)
  // A Redeliver brings tries of its own: had there been an eleventh, it would stand before them.
  await sandbox.call('POST', `/_sandbox/jobs/${id}/redeliver`)
  await waitFor('a redelivery', async () => (await tries(sandbox, id)).length > 10)
  expect((await tries(sandbox, id)).findIndex((one) => one.redeliver)).toBe(10)
})

test('duplicate sends twice, drop not at all, delay later, reorder after another', async () => {
  await using sandbox = await openSandbox()
  await using catcher = await openCatcher()
  const dropped = await submit(sandbox, catcher.url, { webhook: 'drop' })
  const reordered = await submit(sandbox, catcher.url, { webhook: 'reorder' })
  await waitFor('it to end', async () => {
    const { body } = await sandbox.call('GET', `/v1/jobs/${reordered}/status`)
    return body.data.sume_status === 'completed'
  })
  const twice = await submit(sandbox, catcher.url, { webhook: 'duplicate' })
  await catcher.received(3)
  const late = await submit(sandbox, catcher.url, { webhook: 'delay', webhook_delay_ms: 100 })
  await catcher.received(4)
  const ids = catcher.hooks.map(
    (hook) => (JSON.parse(hook.body.toString()) as { job_id: string }).job_id,
  )
  expect(ids.indexOf(twice)).toBeLessThan(ids.indexOf(reordered))
  expect(ids.filter((id) => id === twice)).toHaveLength(2)
  expect(ids[3]).toBe(late)
  expect(await tries(sandbox, dropped)).toEqual([])
})

test('Redeliver sends the same bytes with a fresh stamp', async () => {
  await using sandbox = await openSandbox()
  await using catcher = await openCatcher()
  const id = await submit(sandbox, catcher.url)
  await catcher.received(1)
  expect((await sandbox.call('POST', `/_sandbox/jobs/${id}/redeliver`)).status).toBe(202)
  await catcher.received(2)
  const [first, second] = catcher.hooks
  expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true)
  expect(catcher.hooks.every(isSigned)).toBe(true)
  expect((await sandbox.call('POST', '/_sandbox/jobs/job_none/redeliver')).status).toBe(404)
})

test.each(['http://example.com/hook', 'ftp://127.0.0.1/', 'nonsense'])(
  'the webhook_url %s is refused',
  async (url) => {
    await using sandbox = await openSandbox()
    const { status, body } = await sandbox.call('POST', IMAGE, {
      model: 'm',
      mode: 'webhook',
      webhook_url: url,
    })
    expect(status).toBe(400)
    expect(body.error.details.errors[0].path).toBe('webhook_url')
  },
)

test('a host that the settings name gets webhooks without TLS', async () => {
  await using sandbox = await openSandbox({ SANDBOX_HTTP_HOSTS: 'receiver.test,gate' })
  const submit = (url: string) =>
    sandbox.call('POST', IMAGE, { model: 'm', mode: 'webhook', webhook_url: url })
  expect((await submit('http://gate/hook')).status).toBe(200)
  expect((await submit('http://gate.example/hook')).status).toBe(400)
})
