import type { Db } from './db.ts'
import { rows } from './rows.ts'

/** What the ledger needs to know of the server, as a session of ours sees it. */
export interface DatabaseServer {
  /** As the server says it: `10.11.6-MariaDB-…`, `8.4.3`. */
  readonly version: string
  /** The server's clock, in milliseconds since 1970. */
  readonly nowMs: number
  /** Session variables by their names, as the server prints them. */
  readonly variables: Readonly<Record<string, string>>
}

/** Asks the server for its version, its clock and the variables that the ledger depends on. */
export async function inspectServer(db: Db): Promise<DatabaseServer> {
  // First: on a new connection the time would be taken before the session is set up.
  const printed = await rows<{ Variable_name: string; Value: string }>(
    db,
    // MariaDB before 11.1 knows the isolation level as `tx_isolation` only.
    `SHOW SESSION VARIABLES WHERE Variable_name IN ('sql_mode', 'time_zone', 'transaction_isolation', 'tx_isolation',
       'innodb_lock_wait_timeout', 'max_allowed_packet', 'innodb_flush_log_at_trx_commit', 'read_only')`,
    [],
  )
  const [server] = await rows<{ version: string; now_s: string }>(
    db,
    'SELECT VERSION() AS version, UNIX_TIMESTAMP(NOW(3)) AS now_s',
    [],
  )
  return {
    version: server?.version ?? '',
    nowMs: Math.round(Number(server?.now_s) * 1000),
    variables: Object.fromEntries(
      printed.map((row) => [row.Variable_name.toLowerCase(), row.Value]),
    ),
  }
}
