import { deliver, jobBody, openTestDatabase } from '@sume-inbox/testing'
import { expect, test } from 'vitest'
import { openSystem } from './system.ts'

test('restored from a copy beside an empty Redis: what was open is followed up, what was done is not', async () => {
  await using system = await openSystem({}, { ENQUEUE_GRACE_MS: '300', SWEEP_EVERY_MS: '300' })
  const receiver = await system.start('receiver')
  const worker = await system.start('worker')
  const done = jobBody()
  await deliver(receiver.url, done.body)
  await system.reached(done.jobId, 'done')
  await worker.stop()
  const open = Array.from({ length: 20 }, () => jobBody())
  for (const { body } of open) await deliver(receiver.url, body)

  const restored = await openTestDatabase()
  const from = new URL(system.database.url).pathname.slice(1)
  for (const table of ['sume_events', 'sume_attempts', 'sume_replays', 'sume_quarantine']) {
    // As a dump does it: a generated column is not written.
    const [columns] = await restored.ledger.query(
      `SELECT column_name AS name FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = ? AND COALESCE(generation_expression, '') = ''`,
      [table],
    )
    const list = (columns as unknown as { name: string }[]).map(({ name }) => name).join(', ')
    await restored.ledger.query(
      `INSERT INTO ${table} (${list}) SELECT ${list} FROM ${from}.${table}`,
    )
  }
  await receiver.stop()

  await using after = await openSystem(
    { database: restored },
    { ENQUEUE_GRACE_MS: '300', SWEEP_EVERY_MS: '300' },
  )
  const again = await after.start('worker')
  for (const { jobId } of open) await after.reached(jobId, 'done')
  for (const { jobId } of open) expect(after.runs(jobId)).toHaveLength(1)
  expect(after.runs(done.jobId)).toEqual([])
  expect(await again.stop()).toBe(0)
})
