-- Signed bodies that could not be read as an event, one row for each distinct body.
CREATE TABLE IF NOT EXISTS sume_quarantine (
  body_sha256 BINARY(32) NOT NULL PRIMARY KEY,
  body        LONGBLOB NOT NULL,
  reason      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  count       INT UNSIGNED NOT NULL DEFAULT 1,
  first_seen  DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  last_seen   DATETIME(3) NOT NULL DEFAULT (UTC_TIMESTAMP(3)),
  KEY by_last_seen (last_seen)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
