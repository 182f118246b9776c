import {
  type EventSummary,
  findByAnyId,
  findByRequestId,
  type Ledger,
  neighbouringIds,
} from '@sume-inbox/shared/ledger'
import { DeadlineError } from '@sume-inbox/shared/runtime'
import { CommandError } from '../cli.ts'
import { didYouMean } from '../nearest.ts'

/** A dedupe key's form; `run:` and an id of 64 characters at most. */
const FORM = /^[\x21-\x7e]{1,68}$/

/**
 * The events that an id of any kind names.
 *
 * @throws CommandError with the nearest id that is there, when it names none.
 */
export async function findEvent(ledger: Ledger, id: string): Promise<EventSummary[]> {
  if (!FORM.test(id)) {
    throw new CommandError(
      'expected an id: a dedupe key, job_id, run_id or request_id, of 1 to 68 printable ASCII characters without spaces',
    )
  }
  const found = await findByAnyId(ledger, id)
  if (found.length > 0) return found
  const asked = await findByRequestId(ledger, id).catch((error: unknown) => {
    if (error instanceof DeadlineError) return null
    throw error
  })
  if (asked !== null && asked.length > 0) return asked
  const near = await neighbouringIds(ledger, id)
  const unsure = asked === null ? ' (the ledger is too large to look for it among request ids)' : ''
  throw new CommandError(
    `no event has the dedupe key, job_id, run_id or request_id ${id}${unsure}${didYouMean(id, near)}`,
  )
}
