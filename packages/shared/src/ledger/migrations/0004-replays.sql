-- Every time a person had an event's follow-up run again.
CREATE TABLE IF NOT EXISTS sume_replays (
  id          BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  dedupe_key  VARCHAR(68)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  what        VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  replayed_by VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  why         TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  replayed_at DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  KEY by_event (dedupe_key, id),
  CONSTRAINT replay_what CHECK (what IN ('retry', 'replay', 'forced'))
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
