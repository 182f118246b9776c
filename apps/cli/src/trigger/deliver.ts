import { sendDelivery, signDelivery } from '@sume-inbox/shared/sume'
import { toError } from '@sume-inbox/shared/runtime'

/** As long as Sume waits. Source: the published page on job ids. */
const TIMEOUT_MS = 10_000

/** What became of one delivery. */
export type Delivered =
  | { readonly ok: boolean; readonly status: number; readonly answer: string; readonly ms: number }
  | { readonly ok: false; readonly error: string }

export interface Signing {
  readonly secret: string
  readonly signatureHeader: string
  readonly timestampHeader: string
}

/** Signs `body` now, sends it, and tells what came back. Never throws. */
export async function deliverOnce(
  url: string,
  body: Buffer,
  signing: Signing,
  now: () => number,
): Promise<Delivered> {
  const signed = signDelivery(body, signing.secret, Math.floor(now() / 1000))
  const headers = {
    [signing.timestampHeader]: signed['x-sume-timestamp'] ?? '',
    [signing.signatureHeader]: signed['x-sume-signature'] ?? '',
  }
  try {
    const { status, answer, ms } = await sendDelivery({ url, body, headers, timeoutMs: TIMEOUT_MS })
    return { ok: status >= 200 && status < 300, status, answer, ms }
  } catch (thrown) {
    return { ok: false, error: reason(toError(thrown)) }
  }
}

/** `fetch` says "fetch failed"; the reason is its cause. */
function reason(error: Error): string {
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  const { code } = (error.cause ?? error) as { code?: unknown }
  return typeof code === 'string' ? `cannot be reached (${code})` : 'cannot be reached'
}
