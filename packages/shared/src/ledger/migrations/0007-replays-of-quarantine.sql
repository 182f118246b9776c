-- A body that left the quarantine is a person's decision too. Dropped and made anew: there is no other way to change it.
ALTER TABLE sume_replays DROP CONSTRAINT replay_what,
  ADD CONSTRAINT replay_what CHECK (what IN ('retry', 'replay', 'forced', 'released'))
