import { createHmac, timingSafeEqual } from 'node:crypto'

/** What a signature is checked against. */
export interface SignatureRules {
  /** Any of them may have signed: during a rotation there are two. */
  readonly secrets: readonly string[]
  /** How far a timestamp may be from now, either way, inclusive. */
  readonly toleranceSeconds: number
}

/** A delivery's headers as they came: each list holds one value for each time the header was sent. */
export interface SignatureHeaders {
  readonly timestamp: readonly string[]
  readonly signature: readonly string[]
}

/** Why a delivery counts as unsigned; for our log only. */
export type Refusal =
  | 'timestamp header missing or doubled'
  | 'timestamp malformed'
  | 'timestamp outside the tolerance'
  | 'signature header missing or doubled'
  | 'too many signatures'
  | 'no well-formed signature'
  | 'no signature matches'

const MAX_VALUES = 16
const V1 = /^v1=([0-9a-fA-F]{64})$/

/**
 * Checks `v1=<hex>` signatures: HMAC-SHA256 over `${timestamp}.${body}`, one or several in one header,
 * with commas or spaces between. Constant in time for what is compared, and it never throws.
 *
 * @param now seconds since 1970.
 * @returns `null` when one signature matches one secret; why not, otherwise.
 */
export function refuseSignature(
  body: Buffer,
  headers: SignatureHeaders,
  rules: SignatureRules,
  now: number,
): Refusal | null {
  const [timestamp, ...moreTimestamps] = headers.timestamp
  const [signature, ...moreSignatures] = headers.signature
  // Two headers could be read as one by us and as another by somebody before us.
  if (timestamp === undefined || moreTimestamps.length > 0)
    return 'timestamp header missing or doubled'
  if (signature === undefined || moreSignatures.length > 0)
    return 'signature header missing or doubled'
  // Ten digits are seconds; milliseconds, signs, spaces and exponents are not.
  if (!/^\d{10}$/.test(timestamp)) return 'timestamp malformed'
  if (Math.abs(now - Number(timestamp)) > rules.toleranceSeconds)
    return 'timestamp outside the tolerance'

  const values = signature.split(/[\s,]+/).filter((value) => value !== '')
  if (values.length > MAX_VALUES) return 'too many signatures'
  const given = values.flatMap((value) => {
    const hex = V1.exec(value)?.[1]
    return hex === undefined ? [] : [Buffer.from(hex, 'hex')]
  })
  if (given.length === 0) return 'no well-formed signature'
  const matches = rules.secrets.some((secret) => {
    const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest()
    return given.some((candidate) => timingSafeEqual(candidate, expected))
  })
  return matches ? null : 'no signature matches'
}
