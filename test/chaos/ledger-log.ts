import type { TestDatabase } from '@sume-inbox/testing'

/** What MySQL itself saw of an event's lease. */
export interface LeaseStep {
  readonly dedupe_key: string
  /** A new token in the row, or none any more. */
  readonly step: 'claim' | 'settle'
  readonly attempt: number
  /** The process that claimed. */
  readonly pid: number
  readonly at: Date
  /** Whether the row was claimed while another attempt's lease was valid. */
  readonly beside: 0 | 1
}

/**
 * Has MySQL write down every claim and every settle by itself, in the transaction that makes it, and
 * makes the table of the follow-ups' effects. The log trusts nothing of what is tested.
 */
export async function makeLedgerLog(database: TestDatabase): Promise<void> {
  const { ledger } = database
  await ledger.query(
    `CREATE TABLE effects (id INT AUTO_INCREMENT PRIMARY KEY, dedupe_key VARCHAR(68) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
       attempt INT NOT NULL, pid INT NOT NULL, KEY (dedupe_key))`,
  )
  await ledger.query(
    `CREATE TABLE lease_steps (id INT AUTO_INCREMENT PRIMARY KEY, dedupe_key VARCHAR(68) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
       step VARCHAR(8) NOT NULL, attempt INT NOT NULL, worker VARCHAR(128) NOT NULL, at DATETIME(3) NOT NULL, beside TINYINT NOT NULL)`,
  )
  await ledger.query(
    `CREATE TRIGGER log_leases AFTER UPDATE ON sume_events FOR EACH ROW
       IF NOT (NEW.lease_token <=> OLD.lease_token) THEN
         INSERT INTO lease_steps (dedupe_key, step, attempt, worker, at, beside) VALUES (
           NEW.dedupe_key, IF(NEW.lease_token IS NULL, 'settle', 'claim'), NEW.attempts, COALESCE(NEW.leased_by, ''), NOW(3),
           NEW.lease_token IS NOT NULL AND OLD.lease_token IS NOT NULL AND OLD.leased_until > NOW(3));
       END IF`,
  )
}

/** Every step so far, in order. */
export async function leaseSteps(database: TestDatabase): Promise<LeaseStep[]> {
  const [rows] = await database.ledger.query(
    `SELECT dedupe_key, step, attempt, CAST(SUBSTRING_INDEX(worker, ':', -1) AS UNSIGNED) AS pid, at, beside
       FROM lease_steps ORDER BY id`,
  )
  return rows as unknown as LeaseStep[]
}
