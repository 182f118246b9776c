-- The published table's columns, so that the published INSERT, SELECT and DELETE work as they stand.
CREATE OR REPLACE VIEW sume_jobs AS
SELECT dedupe_key AS job_id, event, status, payload, state, deliveries, first_seen
  FROM sume_events WHERE kind = 'job' WITH CHECK OPTION
