import { jobBody, runBody } from '@sume-inbox/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, type Door, openDoor, signed } from './door.ts'

const COPIES = 300
let door: Door
let urls: string[]

beforeAll(async () => {
  door = await openDoor()
  urls = [door.url, (await door.another()).url, (await door.another()).url]
})
afterAll(() => door[Symbol.asyncDispose]())

const job = jobBody()
const failed = jobBody({ event: 'job.failed', status: 'ERROR', error: { code: 'x' } })
const run = runBody()

test.each([
  ['a job', job.body, job.jobId, job.jobId, () => 0],
  ['a failed job', failed.body, failed.jobId, failed.jobId, () => 0],
  ['a run', run.body, run.runId, run.dedupeKey, () => 0],
  // A Redeliver is signed anew: its timestamp and signature differ from the first delivery's.
  [
    'a job that is redelivered',
    jobBody({ jobId: 'job_r' }).body,
    'job_r',
    'job_r',
    (i: number) => i % 60,
  ],
])(
  '300 copies at once of %s, over three receivers: all 200, one accepted, one row, one job',
  async (_, body, sumeId, dedupeKey, age) => {
    const answers = await Promise.all(
      Array.from({ length: COPIES }, (_, i) =>
        ask(urls[i % urls.length] ?? '', { body, headers: signed(body, age(i)) }),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(COPIES)
    const receipts = answers.map((answer) => (answer.body as { receipt: string }).receipt)
    expect(receipts.filter((receipt) => receipt === 'accepted')).toHaveLength(1)
    expect(receipts.filter((receipt) => receipt === 'duplicate')).toHaveLength(COPIES - 1)
    expect(await door.rows(sumeId)).toMatchObject([
      { dedupe_key: dedupeKey, deliveries: COPIES, diverged: 0, payload: body.toString() },
    ])
    expect((await door.queued()).filter((key) => key === dedupeKey)).toHaveLength(1)
  },
)
