-- What an INSERT in plain SQL may write: a key and a path that can be sent, and named on a command line.
-- Dropped and made anew: there is no other way to change a check.
ALTER TABLE sume_intents DROP CONSTRAINT intent_key, DROP CONSTRAINT intent_path,
  ADD CONSTRAINT intent_key  CHECK (idempotency_key <> '' AND idempotency_key NOT REGEXP '[^!-~]'),
  ADD CONSTRAINT intent_path CHECK (path LIKE '/%' AND path NOT LIKE '//%' AND path NOT REGEXP '[^!-~]')
