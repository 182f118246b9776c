import { deliver, jobBody, waitFor } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Container, openCompose } from './compose.ts'

const RECEIVERS = 2
const WORKERS = 3
const EVENTS = 500
const CALLERS = 32
/** Far above what the batch takes here: it only ends a test that hangs. */
const PATIENCE_MS = 120_000

const system = openCompose(18_080)
const { compose, docker, inspect } = system
const scale = ['--scale', `receiver=${RECEIVERS}`, '--scale', `worker=${WORKERS}`]

beforeAll(
  // The CI log shows what the build did; a failure's end is in the error.
  () => compose('up', '--detach', '--build', '--wait', '--wait-timeout', '240', ...scale),
  600_000,
)
afterAll(() => system.close(), 120_000)

test('without settings it says which one is missing, and nothing has a secret by default', async () => {
  const without = async (name: string) => {
    const { [name]: _, ...rest } = system.settings as Record<string, string>
    return system.with(rest, () => compose('config', '--quiet').catch((error: Error) => error))
  }
  for (const name of [
    'MYSQL_ROOT_PASSWORD',
    'MYSQL_PASSWORD',
    'REDIS_PASSWORD',
    'SUME_WEBHOOK_SECRETS',
    'CONSOLE_PASSWORD',
    'CONSOLE_SESSION_KEY',
    'FOLLOW_UPS_DIR',
  ]) {
    expect(String(await without(name))).toMatch(`set ${name} in .env`)
  }
})

test('the processes are node itself, not root, on a file system they cannot write', async () => {
  for (const [service, copies] of Object.entries({
    receiver: RECEIVERS,
    worker: WORKERS,
    console: 1,
  })) {
    const containers = await system.containers(service)
    expect(containers).toHaveLength(copies)
    for (const { Id, HostConfig } of containers) {
      expect(HostConfig.ReadonlyRootfs).toBe(true)
      const first = await docker('exec', Id, 'node', '-p', PID_1)
      expect(JSON.parse(first)).toEqual({ program: 'node', uid: 1000 })
    }
  }
})

/** What runs as PID 1 there, and as whom. */
const PID_1 = `JSON.stringify({
  program: require('fs').readFileSync('/proc/1/cmdline', 'utf8').split('\\0')[0],
  uid: process.getuid(),
})`

test('only Caddy is published, and on loopback only', async () => {
  const ids = (await compose('ps', '--all', '--quiet')).split('\n').filter((id) => id !== '')
  const published = (await inspect(...ids)).flatMap(({ Name, NetworkSettings }) =>
    Object.values(NetworkSettings.Ports)
      .flat()
      .flatMap((binding) => (binding === null ? [] : [{ Name, HostIp: binding.HostIp }])),
  )
  expect(published).not.toEqual([])
  for (const { Name, HostIp } of published) {
    expect(Name).toContain('-caddy-')
    expect(HostIp).toBe('127.0.0.1')
  }
  expect((await fetch(`${system.url}/health/ready`)).status).toBe(404)
})

test(`${EVENTS} events through Caddy are all done, shared by every receiver and every worker`, async () => {
  const answers = await sendAll(EVENTS)
  expect(answers).toEqual(Array.from({ length: EVENTS }, () => 200))
  await allDone(EVENTS)

  const accepted = await counts('receiver', 'delivery accepted')
  const done = await counts('worker', 'event done')
  process.stdout.write(
    `compose: ${EVENTS} events, ${accepted.join(' + ')} by the receivers, ${done.join(' + ')} by the workers\n`,
  )
  for (const shares of [accepted, done]) {
    expect(shares.reduce((sum, share) => sum + share, 0)).toBe(EVENTS)
    for (const share of shares) expect(share).toBeGreaterThan(0)
  }
}, 240_000)

test('the console is behind Caddy at its path, and behind its login', async () => {
  const ask = (path: string) => fetch(`${system.url}${path}`, { redirect: 'manual' })
  const moved = await ask('/console')
  expect([moved.status, moved.headers.get('location')]).toEqual([302, '/console/'])
  const entered = await fetch(`${system.url}/console/`, { headers: { accept: 'text/html' } })
  expect(entered.status).toBe(401)
  expect(await entered.text()).toContain('action="/console/login"')
  expect((await ask('/console/queues/api/queues')).status).toBe(401)
})

test('a rolling restart of receivers and workers under load fails no delivery and loses no event', async () => {
  const before = await doneSoFar()
  const load = startLoad()
  const stopped: number[] = []
  try {
    for (const service of ['receiver', 'worker']) {
      for (const { Id } of await system.containers(service)) {
        stopped.push(await stop(Id))
        await docker('start', Id)
        await system.healthy(Id)
      }
    }
  } finally {
    load.end()
  }
  const answers = await load.answers
  process.stdout.write(`compose: ${answers.length} deliveries during the rolling restart\n`)
  expect(stopped).toEqual(Array.from({ length: RECEIVERS + WORKERS }, () => 0))
  expect(answers.filter((status) => status !== 200)).toEqual([])
  expect(answers.length).toBeGreaterThan(0)
  await allDone(before + answers.length)
}, 360_000)

test('every container stops with exit code 0 within its grace, Redis gone before', async () => {
  const services = ['redis', 'worker', 'receiver', 'console', 'caddy', 'mysql']
  for (const service of services) {
    const containers = await system.containers(service)
    const codes = await Promise.all(containers.map(({ Id }) => stop(Id)))
    expect(codes, service).toEqual(containers.map(() => 0))
  }
}, 240_000)

/** Sends events as fast as a few callers can. @returns each one's status. */
async function sendAll(count: number): Promise<(number | string)[]> {
  const bodies = Array.from({ length: count }, () => jobBody().body)
  const statuses: (number | string)[] = []
  const caller = async () => {
    for (let body = bodies.pop(); body !== undefined; body = bodies.pop())
      statuses.push(await send(body))
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return statuses
}

/** A few callers, each with one delivery after the other, until told to end. */
function startLoad() {
  const ended = new AbortController()
  const caller = async () => {
    const statuses: (number | string)[] = []
    while (!ended.signal.aborted) statuses.push(await send(jobBody().body))
    return statuses
  }
  const callers = Promise.all([caller(), caller()])
  return {
    end: () => ended.abort(),
    answers: callers.then((statuses) => statuses.flat()),
  }
}

/** @returns the answer's status, or what went wrong. */
const send = (body: Buffer): Promise<number | string> =>
  deliver(system.url, body, { secret: system.secret }).then(
    ({ status }) => status,
    (error: Error) => `${error.message}: ${String(error.cause)}`,
  )

async function doneSoFar(): Promise<number> {
  const { counts: list } = await system.sume<{ counts: { state: string; events: number }[] }>(
    'status',
  )
  return list.filter(({ state }) => state === 'done').reduce((sum, { events }) => sum + events, 0)
}

const allDone = (count: number) =>
  waitFor(`${count} events to be done`, async () => (await doneSoFar()) === count, PATIENCE_MS)

/** How many such lines each container of a service has logged. */
async function counts(service: string, message: string): Promise<number[]> {
  const containers = await system.containers(service)
  return Promise.all(
    containers.map(
      async ({ Id }) => (await system.lines(Id)).filter(({ msg }) => msg === message).length,
    ),
  )
}

/** Stops a container as `docker stop` does with the grace of its service. @returns its exit code. */
async function stop(id: string): Promise<Container['State']['ExitCode']> {
  await docker('stop', id)
  const [container] = await inspect(id)
  return container?.State.ExitCode ?? -1
}
