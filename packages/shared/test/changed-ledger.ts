import type { Db, Ledger } from '@sume-inbox/shared/ledger'

/** What to change in the text of every statement that contains `in`. */
export interface Change {
  readonly in: string
  readonly from: string
  readonly to: string
}

/** A condition taken out of a statement; its parameters stay where they are. */
export const without = (condition: string, statement: string): Change => ({
  in: statement,
  from: condition,
  to: `(${condition} OR TRUE)`,
})

/** A ledger whose statements differ: to show that a rule's condition is what keeps its promise. */
export interface ChangedLedger extends Ledger {
  /** How many statements were changed; 0 says that a test changed nothing at all. */
  changed(): number
}

/**
 * @param sent collects the changed statements.
 * @throws from its statements, when one of them has not got the text that is to be changed.
 */
export function changedLedger(ledger: Ledger, change: Change, sent: string[] = []): ChangedLedger {
  const rewrite = (sql: unknown): unknown => {
    if (typeof sql !== 'string' || !sql.includes(change.in)) return sql
    if (!sql.includes(change.from))
      throw new Error(`the statement has not got: ${change.from}\n${sql}`)
    const changed = sql.replaceAll(change.from, change.to)
    sent.push(changed)
    return changed
  }
  type Run = (sql: unknown, ...rest: unknown[]) => unknown
  const on = (db: Db): Db => {
    const { execute, query } = db as unknown as { execute: Run; query: Run }
    return {
      execute: (sql: unknown, ...rest: unknown[]) => execute(rewrite(sql), ...rest),
      query: (sql: unknown, ...rest: unknown[]) => query(rewrite(sql), ...rest),
    } as unknown as Db
  }
  return {
    ...on(ledger),
    inTransaction: (work) => ledger.inTransaction((tx) => work(on(tx))),
    close: () => ledger.close(),
    changed: () => sent.length,
  }
}

/** A ledger that has no transactions: every statement commits by itself. */
export const withoutTransactions = (ledger: Ledger): Ledger => ({
  ...ledger,
  inTransaction: (work) => work(ledger),
})
