/** The columns of an `EventSummary`: everything but the payload, which may be large and carries prompts. */
export const SUMMARY_COLUMNS = `dedupe_key, kind, sume_id, request_id, event, status, source, state, deliveries, diverged, attempts,
            snoozes, last_error, first_seen, last_seen, due_at, done_at, leased_until, leased_by`
