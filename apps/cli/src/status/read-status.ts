import {
  countDue,
  countEvents,
  countQuarantine,
  countRedelivered,
  countUnsettledIntents,
  type Ledger,
  listEvents,
} from '@sume-inbox/shared/ledger'
import { DeadlineError } from '@sume-inbox/shared/runtime'

/** How many events of one state are listed. */
const LISTED = 10

export type Status = Awaited<ReturnType<typeof readStatus>>

/**
 * Everything that `status` shows. What a very large ledger cannot tell in the time of one statement
 * is `null`, and does not keep the rest from being shown.
 */
export async function readStatus(ledger: Ledger) {
  return {
    lag: await countDue(ledger),
    claimed: await listEvents(ledger, 'claimed', LISTED),
    dead: await listEvents(ledger, 'dead', LISTED),
    intents: await countUnsettledIntents(ledger),
    quarantine: await countQuarantine(ledger),
    counts: await inTime(countEvents(ledger)),
    redelivered: await inTime(countRedelivered(ledger)),
  }
}

const inTime = <T>(counting: Promise<T>): Promise<T | null> =>
  counting.catch((error: unknown) => {
    if (error instanceof DeadlineError) return null
    throw error
  })
