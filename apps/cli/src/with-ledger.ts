import { type Ledger, openLedger } from '@sume-inbox/shared/ledger'

/** One statement at a time is all that a command runs. */
const POOL_SIZE = 2

/** Opens the ledger for `work`, and closes it whatever happens: an open connection keeps the process alive. */
export async function withLedger<T>(
  config: { DATABASE_URL: string; DATABASE_TIMEOUT_MS: number },
  work: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  const ledger = openLedger({
    url: config.DATABASE_URL,
    poolSize: POOL_SIZE,
    timeoutMs: config.DATABASE_TIMEOUT_MS,
  })
  try {
    return await work(ledger)
  } finally {
    await ledger.close()
  }
}
