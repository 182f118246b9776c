import type { Unreadable } from '@sume-inbox/shared/envelope'
import { type Db, quarantineBody, trimQuarantine } from '@sume-inbox/shared/ledger'
import { toError } from '@sume-inbox/shared/runtime'
import type { Events } from '@sume-inbox/shared/telemetry'

/** Where signed bodies go that are not events to us. */
export interface Quarantine {
  /** Keeps the body, durably when it returns. @throws what the ledger throws. */
  keep(body: Buffer, reason: Unreadable): Promise<void>
}

/** Opens the quarantine: bounded, the bodies seen last stay. */
export function openQuarantine(db: Db, maxRows: number, events: Events): Quarantine {
  let trimming = false
  let again = false
  const trim = async () => {
    // Several at once would only wait for each other's locks. One that is under way may not have seen this body.
    again = trimming
    if (trimming) return
    trimming = true
    try {
      await trimQuarantine(db, maxRows)
    } catch (error) {
      events.emit('background:error', { where: 'quarantine', error: toError(error) })
    } finally {
      trimming = false
    }
    if (again) void trim()
  }
  return {
    async keep(body, reason) {
      const isNew = await quarantineBody(db, body, reason)
      // Not waited for: the body is safe, and Sume waits for an answer.
      if (isNew) void trim()
    },
  }
}
