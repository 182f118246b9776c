import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** What a person may do: look, or also change. */
export type Role = 'viewer' | 'operator'

export interface Passwords {
  readonly operator: string
  readonly viewer: string | undefined
}

/** Makes lengths equal, so that the comparison below takes the same time for every guess. */
const key = randomBytes(32)
const digest = (text: string) => createHmac('sha256', key).update(text).digest()

/** @returns the role that the password opens, or `null`. Takes the same time whatever is given. */
export function roleOf(given: string, passwords: Passwords): Role | null {
  const guess = digest(given)
  const operator = timingSafeEqual(guess, digest(passwords.operator))
  const viewer = timingSafeEqual(guess, digest(passwords.viewer ?? ''))
  if (operator) return 'operator'
  return viewer && passwords.viewer !== undefined ? 'viewer' : null
}
