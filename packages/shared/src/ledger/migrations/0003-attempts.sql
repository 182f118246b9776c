-- Every attempt that did not end in `done`. `lost`: it never settled, so its worker is gone or was too late.
CREATE TABLE IF NOT EXISTS sume_attempts (
  id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  dedupe_key VARCHAR(68)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  attempt    INT UNSIGNED NOT NULL,
  worker     VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NULL,
  started_at DATETIME(3) NULL,
  ended_at   DATETIME(3) NULL,
  outcome    VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  error      TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  KEY by_event (dedupe_key, id),
  CONSTRAINT attempt_outcome CHECK (outcome IN ('retry', 'dead', 'snooze', 'lost'))
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
