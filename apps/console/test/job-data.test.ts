import { jobId } from '@sume-inbox/shared/queues'
import { expect, test } from 'vitest'
import { ask, login, OPERATOR, openRoom } from './room.ts'

const SECRET = 'a-prompt-that-nobody-may-read'

test('no page or call of the board shows a payload, not even one that somebody else put into a job', async () => {
  await using room = await openRoom()
  const cookie = await login(room.url, OPERATOR)
  const ours = await room.add({ output: { prompt: SECRET } })
  const foreign = await room.queue.add('OK', { dedupeKey: 'foreign', prompt: SECRET } as never, {
    jobId: 'foreign',
  })
  await foreign.updateProgress({ prompt: SECRET })
  await foreign.log(SECRET)
  const jobs = ['', 'latest', 'waiting', 'prioritized', 'failed', 'completed']
  const told = await Promise.all(
    [
      ...jobs.map((status) => `/queues/api/queues?activeQueue=follow-ups&status=${status}`),
      `/queues/api/queues/follow-ups/${jobId(ours)}`,
      '/queues/api/queues/follow-ups/foreign',
      '/queues/api/queues/follow-ups/foreign/flow',
      '/queues/api/queues/follow-ups/foreign/logs',
      '/queues/queue/follow-ups/foreign',
    ].map((path) => ask(room.url, path, { cookie })),
  )
  expect(told.filter(({ status }) => status !== 200)).toEqual([])
  expect(told.map(({ text }) => text).join('\n')).not.toContain(SECRET)

  const { job } = JSON.parse(told[jobs.length]?.text ?? '') as { job: { data: unknown } }
  expect(job.data).toEqual({ dedupeKey: ours })
  // And there is none behind what is shown.
  expect((await room.queue.getJob(jobId(ours)))?.data).toEqual({ dedupeKey: ours })
})
