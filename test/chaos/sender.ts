import { setTimeout as sleep } from 'node:timers/promises'
import { sendDelivery, signDelivery } from '@sume-inbox/shared/sume'
import { jobBody, TEST_SECRET } from '@sume-inbox/testing'

/** Sends deliveries as Sume does, each until it gets a 2xx, and remembers what was promised. */
export interface Sender {
  /** Delivers one event. @returns its dedupe key, when a receiver has accepted it. */
  send(fields?: Parameters<typeof jobBody>[0]): Promise<string>
  /** Delivers it again, as a redelivery does. */
  again(key: string): Promise<void>
  /** Every event with a 2xx. */
  readonly accepted: Map<string, { firsts: number; body: Buffer }>
  /** Tries by their answer's status; `none` for those without one. */
  readonly tries: Map<string, number>
}

/** Sume waits so long for an answer. */
const TRY_MS = 10_000
/** Longer than any fault. */
const PATIENCE_MS = 180_000
const PAUSE_MS = 200
const LONGEST_PAUSE_MS = 2000

/** @param urls the receivers, as they are at this moment; tries take turns. */
export function makeSender(urls: () => readonly string[]): Sender {
  const accepted: Sender['accepted'] = new Map()
  const tries: Sender['tries'] = new Map()
  let turn = 0

  async function tryOnce(body: Buffer): Promise<{ status: number; answer: string }> {
    const all = urls()
    const url = `${all[turn++ % all.length]}/webhooks/sume`
    const headers = signDelivery(body, TEST_SECRET, Math.floor(Date.now() / 1000))
    const answered = await sendDelivery({ url, body, headers, timeoutMs: TRY_MS }).catch(() => null)
    const status = answered === null ? 'none' : String(answered.status)
    tries.set(status, (tries.get(status) ?? 0) + 1)
    return answered ?? { status: 0, answer: '' }
  }

  async function deliver(key: string, body: Buffer): Promise<void> {
    const end = performance.now() + PATIENCE_MS
    for (let pause = PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const { status, answer } = await tryOnce(body)
      if (status >= 200 && status < 300) {
        const known = accepted.get(key) ?? { firsts: 0, body }
        if ((JSON.parse(answer) as { receipt: string }).receipt === 'accepted') known.firsts += 1
        accepted.set(key, known)
        return
      }
      if (performance.now() > end) throw new Error(`nobody took ${key}: the last answer ${status}`)
      await sleep(pause)
    }
  }

  return {
    accepted,
    tries,
    async send(fields) {
      const { jobId, body } = jobBody(fields)
      await deliver(jobId, body)
      return jobId
    },
    async again(key) {
      const known = accepted.get(key)
      if (known === undefined) throw new Error(`${key} was never accepted`)
      await deliver(key, known.body)
    },
  }
}

/** Sends so many at a time until `more` says that it is enough; 20 % are delivered twice. */
export async function load(
  sender: Sender,
  options: {
    callers: number
    more: (sent: number) => boolean
    /** At most so many a second; as fast as they are taken when it is not given. */
    perSecond?: number
    fields?: (i: number) => Parameters<typeof jobBody>[0]
  },
): Promise<number> {
  const start = performance.now()
  let sent = 0
  const caller = async () => {
    while (options.more(sent)) {
      const i = sent++
      if (options.perSecond !== undefined) {
        const early = start + (i * 1000) / options.perSecond - performance.now()
        if (early > 0) await sleep(early)
      }
      const key = await sender.send(options.fields?.(i))
      if (i % 5 === 0) await sender.again(key)
    }
  }
  await Promise.all(Array.from({ length: options.callers }, caller))
  return sent
}
