/** What an event must look like in the end for the demo to have worked. */
interface Ending {
  readonly source: 'webhook' | 'poll'
  readonly attempts: number
  readonly deliveries: number
}

/** One paid job of the demo, and what is special about it. */
export interface Scene {
  readonly title: string
  /** Sume's path of the submit. */
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** Presses Redeliver once the event is done. */
  readonly redeliver?: boolean
  readonly ending: Ending
}

const image = '/v1/image-router/generate'
const video = '/v1/video-router/generate'

export const scenes: readonly Scene[] = [
  {
    title: 'an image',
    path: image,
    body: { model: 'sandbox/image', prompt: 'a red kite', sandbox: { run_ms: 300 } },
    ending: { source: 'webhook', attempts: 1, deliveries: 1 },
  },
  {
    title: 'a video whose webhook is sent twice',
    path: video,
    body: {
      model: 'sandbox/video',
      prompt: 'a kite, rising',
      sandbox: { run_ms: 500, webhook: 'duplicate' },
    },
    ending: { source: 'webhook', attempts: 1, deliveries: 2 },
  },
  {
    title: 'an image that fails, and a follow-up that throws twice',
    path: image,
    body: { model: 'sandbox/image', prompt: 'no', sandbox: { run_ms: 300, outcome: 'failed' } },
    ending: { source: 'webhook', attempts: 3, deliveries: 1 },
  },
  {
    title: 'a lip-sync, redelivered by hand after it was done',
    path: video,
    body: { model: 'sandbox/lipsync', sandbox: { run_ms: 400 } },
    redeliver: true,
    ending: { source: 'webhook', attempts: 1, deliveries: 2 },
  },
  {
    title: 'a run of a Format',
    path: '/v1/formats/demo/runs',
    body: { input: { name: 'Ada' }, sandbox: { run_ms: 400 } },
    ending: { source: 'webhook', attempts: 1, deliveries: 1 },
  },
  {
    title: 'an avatar video whose webhook never comes',
    path: '/v1/models/sume/avatar-video/v1.0/runs',
    body: { script: 'hello', sandbox: { run_ms: 400, webhook: 'drop' } },
    ending: { source: 'poll', attempts: 1, deliveries: 0 },
  },
]
