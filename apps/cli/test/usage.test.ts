import { expect, test } from 'vitest'
import { closedPort, sume } from './sume.ts'

const COMMANDS = [
  'migrate',
  'doctor',
  'status',
  'show',
  'sweep',
  'submit',
  'intents',
  'reconcile',
  'trigger',
]

test('an unknown command exits 1 and names the nearest one and all others', async () => {
  const ran = await sume(['mirgate'])
  expect(ran.code).toBe(1)
  expect(ran.stdout).toBe('')
  expect(ran.stderr).toContain('Did you mean migrate?')
  for (const name of COMMANDS) expect(ran.stderr).toContain(name)
})

test('an unknown flag exits 1 and names the nearest one', async () => {
  const ran = await sume(['status', '--jsno'])
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain('Did you mean --json?')
})

test('a missing and a surplus argument exit 1', async () => {
  expect(await sume(['show'])).toMatchObject({ code: 1, stderr: expect.stringContaining("'id'") })
  expect((await sume(['migrate', 'now'])).code).toBe(1)
})

test('no command exits 1 and says which there are', async () => {
  const ran = await sume([])
  expect(ran.code).toBe(1)
  for (const name of COMMANDS) expect(ran.stderr).toContain(name)
})

test.each(COMMANDS)('%s --help exits 0 and has examples', async (name) => {
  const ran = await sume([name, '--help'])
  expect(ran.code).toBe(0)
  expect(ran.stdout).toContain(`Examples:\n  $ sume ${name}`)
})

test('a configuration that cannot be used exits 2 and names every problem without a value', async () => {
  const ran = await sume(['sweep'], {
    DATABASE_URL: 'postgres://u:hush-hush@h/db',
    SWEEP_EVERY_MS: '0x10',
  })
  expect(ran.code).toBe(2)
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'SWEEP_EVERY_MS']) {
    expect(ran.stderr).toContain(`- ${name}: `)
  }
  expect(ran.stderr).not.toContain('hush-hush')
})

test.each([['migrate'], ['status'], ['show', 'job_1'], ['sweep']])(
  '%s exits 1 when MySQL is away, says which server, and shows neither password nor stack',
  async (...args) => {
    const port = await closedPort()
    const ran = await sume(args, {
      DATABASE_URL: `mysql://root:hush-hush@127.0.0.1:${port}/inbox`,
      REDIS_URL: `redis://127.0.0.1:${port}`,
    })
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain(`MySQL at 127.0.0.1:${port} cannot do it now (ECONNREFUSED)`)
    expect(ran.stdout + ran.stderr).not.toMatch(/hush-hush|\n\s+at /)
  },
)
