import { elapsedMs } from '../runtime/index.ts'

/** What a receiver answered to one delivery. */
export interface DeliveryAnswer {
  readonly status: number
  readonly answer: string
  readonly ms: number
}

/**
 * Sends one delivery as Sume does: a POST that follows no redirect and waits no longer than `timeoutMs`
 * for the whole answer. For tools.
 *
 * @throws what `fetch` throws; a `TimeoutError` when the time is over.
 */
export async function sendDelivery(delivery: {
  url: string
  body: Buffer
  headers: Record<string, string>
  timeoutMs: number
}): Promise<DeliveryAnswer> {
  const start = performance.now()
  const response = await fetch(delivery.url, {
    method: 'POST',
    body: new Uint8Array(delivery.body),
    headers: { 'content-type': 'application/json', ...delivery.headers },
    redirect: 'manual',
    signal: AbortSignal.timeout(delivery.timeoutMs),
  })
  const answer = await response.text()
  return { status: response.status, answer, ms: elapsedMs(start) }
}
