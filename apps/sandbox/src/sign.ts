import { createHmac } from 'node:crypto'

/** `v1=` and the HMAC-SHA256 in hex, over the timestamp (seconds), a dot, and the body's bytes. */
export function sign(body: Buffer, secret: string, timestamp: number): string {
  const signed = Buffer.concat([Buffer.from(`${timestamp}.`, 'ascii'), body])
  return `v1=${createHmac('sha256', Buffer.from(secret, 'utf8')).update(signed).digest('hex')}`
}
