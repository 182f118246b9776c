import {
  findIntent as findBySumeId,
  type IntentSummary,
  type Ledger,
  neighbouringKeys,
  readIntent,
} from '@sume-inbox/shared/ledger'
import { CommandError } from '../cli.ts'
import { didYouMean } from '../nearest.ts'

/**
 * The intent that an id names: by its key, or by the job's or run's id.
 *
 * @throws CommandError with the nearest key, when it names none.
 */
export async function findIntent(ledger: Ledger, id: string): Promise<IntentSummary> {
  if (!/^[\x21-\x7e]{1,255}$/.test(id))
    throw new CommandError(
      'expected an idempotency key, job_id or run_id, of 1 to 255 printable ASCII characters without spaces',
    )
  const found = (await readIntent(ledger, id)) ?? (await findBySumeId(ledger, id))
  if (found !== null) return found
  const near = await neighbouringKeys(ledger, id)
  throw new CommandError(`no intent has the key, job_id or run_id ${id}${didYouMean(id, near)}`)
}
