import { createHmac } from 'node:crypto'

/**
 * The headers that make a delivery a signed one: HMAC-SHA256 with the signing secret over
 * `${timestamp}.${body}`, in hex. For tools that send a delivery themselves; the receiver verifies with
 * code of its own, so that one bug cannot hide on both sides.
 *
 * @param timestamp seconds since 1970.
 */
export function signDelivery(
  body: Buffer,
  secret: string,
  timestamp: number,
): Record<string, string> {
  const hex = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')
  return { 'x-sume-timestamp': String(timestamp), 'x-sume-signature': `v1=${hex}` }
}
