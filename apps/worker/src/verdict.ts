/** What the queue is to do with a job, after the ledger has been told. */
export type Verdict =
  | { readonly verdict: 'completed' }
  /** Again after `delayMs`, the same number that went into the row's `due_at`. */
  | { readonly verdict: 'retry'; readonly delayMs: number; readonly error: string }
  /** Never again, unless a person says so. */
  | { readonly verdict: 'dead'; readonly error: string }
  /** Again after `ms`, and nothing is used up. */
  | { readonly verdict: 'delay'; readonly ms: number }
