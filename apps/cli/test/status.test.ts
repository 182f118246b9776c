import { quarantineBody, settleDone } from '@sume-inbox/shared/ledger'
import { jobBody, openTestDatabase, runBody, type TestDatabase } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claim, die, record } from './ledger.ts'
import { sume } from './sume.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await openTestDatabase()
  const { ledger } = database
  for (const jobId of ['job_older', 'job_newer', 'job_done']) {
    await record(ledger, jobBody({ jobId }).body)
  }
  const failed = { event: 'job.failed', status: 'ERROR' }
  for (const jobId of ['job_error', 'job_dead']) {
    await record(ledger, jobBody({ jobId, ...failed }).body)
  }
  await record(ledger, runBody({ runId: 'run_1', requestId: 'req_1' }).body)
  await record(ledger, jobBody({ jobId: 'job_newer', ...failed }).body)
  await record(ledger, jobBody({ jobId: 'job_newer' }).body)
  await settleDone(ledger, await claim(ledger, 'job_done'))
  await die(ledger, 'job_dead', 'boom \u001b[31mred\nsecond line')
  await claim(ledger, 'run:req_1')
  await quarantineBody(ledger, Buffer.from('?'), 'not JSON')
  await ledger.query(
    "UPDATE sume_events SET first_seen = first_seen - INTERVAL 3 HOUR, due_at = NOW(3) - INTERVAL 2 MINUTE WHERE dedupe_key = 'job_older'",
  )
})
afterAll(() => database.drop())

const status = (...args: string[]) => sume(['status', ...args], { DATABASE_URL: database.url })

test('--json counts by state, kind and status, and lists claimed events ERROR first, the oldest first', async () => {
  const ran = await status('--json')
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  const told = JSON.parse(ran.stdout) as {
    counts: unknown[]
    claimed: { dedupe_key: string }[]
    dead: { dedupe_key: string; last_error: string }[]
    redelivered: unknown
    quarantine: unknown
  }
  const sorted = (counts: unknown[]) => counts.map((count) => JSON.stringify(count)).sort()
  expect(sorted(told.counts)).toEqual(
    sorted([
      { state: 'claimed', kind: 'job', status: 'ERROR', events: 1 },
      { state: 'claimed', kind: 'job', status: 'OK', events: 2 },
      { state: 'claimed', kind: 'run', status: 'OK', events: 1 },
      { state: 'dead', kind: 'job', status: 'ERROR', events: 1 },
      { state: 'done', kind: 'job', status: 'OK', events: 1 },
    ]),
  )
  const claimed = told.claimed.map((event) => event.dedupe_key)
  expect(claimed).toEqual(['job_error', 'job_older', 'job_newer', 'run:req_1'])
  expect(told.dead.map((event) => event.dedupe_key)).toEqual(['job_dead'])
  expect(told.redelivered).toEqual({ events: 1, mostDeliveries: 3, diverged: 1 })
  expect(told.quarantine).toEqual([{ reason: 'not JSON', bodies: 1, deliveries: 1 }])
  expect(ran.stdout).not.toContain('payload')
})

test('for people: ages, what happens next, the first line of the last error without its escapes', async () => {
  const { code, stdout } = await status()
  expect(code).toBe(0)
  expect(stdout).toMatch(/job_older +job\.completed +OK +3 h +0 +due for 2 min/)
  expect(stdout).toMatch(/job_newer .*in the queue/)
  expect(stdout).toMatch(/run:req_1 .*running/)
  expect(stdout).toMatch(/job_dead .*boom \ufffd\[31mred\n/)
  expect(stdout).not.toContain('\u001b')
  expect(stdout).toContain('1 events, at most 3 times, 1 with another status later')
  expect(stdout).toContain('1 bodies (1 not JSON)')
})

test('an empty ledger, and one without tables', async () => {
  const empty = await openTestDatabase()
  const bare = await openTestDatabase({ migrated: false })
  try {
    const ran = await sume(['status'], { DATABASE_URL: empty.url })
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('no events yet') })
    const refused = await sume(['status'], { DATABASE_URL: bare.url })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('sume migrate') })
  } finally {
    await empty.drop()
    await bare.drop()
  }
})
