import { createHash } from 'node:crypto'

const PART = /^[A-Za-z0-9._-]{1,64}$/

/**
 * A stable `Idempotency-Key` of an application's own ids, such as `deriveKey('order', orderId, 'cover')`:
 * the same ids give the same key in every process and on every day, other ids another one. What must be
 * paid twice, on purpose, needs a part that says so (`'second-try'`).
 *
 * @param scope what the ids are of; 1 to 64 letters, digits, dots, dashes and underscores. Readable in the key.
 * @param ids at least one; any text or whole number. They are hashed, so an e-mail address is not given to Sume.
 * @returns `scope` and 64 hex digits, joined by a colon.
 * @throws TypeError for a scope or an id that could mean two things.
 */
export function deriveKey(scope: string, ...ids: readonly (string | number)[]): string {
  if (!PART.test(scope))
    throw new TypeError('the scope needs 1 to 64 letters, digits, dots, dashes and underscores')
  if (ids.length === 0) throw new TypeError('a key needs at least one id')
  const parts = ids.map((id) => {
    if (typeof id === 'number' ? !Number.isSafeInteger(id) : typeof id !== 'string' || id === '')
      throw new TypeError('an id is a text that is not empty, or a whole number')
    return String(id)
  })
  // As JSON, so that ('a', 'bc') and ('ab', 'c') are two keys.
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  return `${scope}:${hash}`
}
