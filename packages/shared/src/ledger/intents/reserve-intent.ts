import { createHash } from 'node:crypto'
import type { Kind } from '../../envelope/index.ts'
import type { Db } from '../db.ts'
import { LedgerError } from '../errors.ts'
import { affectedRows, rowsAnywhere } from '../rows.ts'

/** A paid submit as it will be sent. */
export interface NewIntent {
  /** Our `Idempotency-Key`: 1 to 255 printable ASCII characters without spaces. */
  readonly key: string
  /** Where on Sume's API, from its first slash. */
  readonly path: string
  /** The bytes that every try sends. */
  readonly body: string
  readonly kind: Kind
}

/**
 * Writes an intent, or finds it there.
 *
 * @param accept tells whether a body that is there already stands for the same submit; by default only the very same bytes do.
 * @returns `true` for the one call that wrote it.
 * @throws LedgerError `KEY_REUSED`, with both hashes, when the key is there for something else.
 */
export async function reserveIntent(
  db: Db,
  intent: NewIntent,
  accept: (stored: string) => boolean = () => false,
): Promise<boolean> {
  const { key, path, body, kind } = intent
  const affected = await affectedRows(
    db,
    // Something changes in any case: on a caller's connection with mysql2's own flags, a row that stays as it was counts as 1, like a new one.
    `INSERT INTO sume_intents (idempotency_key, path, body, kind) VALUES (?, ?, ?, ?)
     ON DUPLICATE KEY UPDATE reserved = reserved % 4294967295 + 1`,
    [key, path, body, kind],
  )
  if (affected === 1) return true
  // A locking read: a caller's older snapshot might not see the row yet.
  const [there] = await rowsAnywhere<{ path: string; body: string; kind: Kind }>(
    db,
    'SELECT path, body, kind FROM sume_intents WHERE idempotency_key = ? FOR UPDATE',
    [key],
  )
  // Deleted in between, by a person: the next call writes it.
  if (there === undefined) throw new LedgerError('NO_SUCH_INTENT', `the intent ${key} was deleted`)
  const sameBody = there.body === body || accept(there.body)
  if (there.path === path && there.kind === kind && sameBody) return false
  const what = there.path === path ? (there.kind === kind ? 'body' : 'kind') : 'path'
  throw new LedgerError(
    'KEY_REUSED',
    `the key ${key} was used with another ${what} (there: ${there.kind} ${there.path} sha256 ${hash(there.body)}; here: ${kind} ${path} sha256 ${hash(body)}); nothing was sent`,
  )
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
