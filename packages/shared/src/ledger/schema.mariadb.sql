-- MariaDB 10.11
CREATE TABLE `sume_attempts` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `dedupe_key` varchar(68) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `attempt` int(10) unsigned NOT NULL,
  `worker` varchar(128) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `started_at` datetime(3) DEFAULT NULL,
  `ended_at` datetime(3) DEFAULT NULL,
  `outcome` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `error` text DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `by_event` (`dedupe_key`,`id`),
  CONSTRAINT `attempt_outcome` CHECK (`outcome` in ('retry','dead','snooze','lost'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sume_events` (
  `dedupe_key` varchar(68) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `kind` varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'job',
  `sume_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT `dedupe_key`,
  `request_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `event` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `status` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `payload` longtext NOT NULL,
  `source` varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'webhook',
  `state` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'claimed',
  `deliveries` int(10) unsigned NOT NULL DEFAULT 1,
  `diverged` tinyint(4) NOT NULL DEFAULT 0,
  `attempts` int(10) unsigned NOT NULL DEFAULT 0,
  `snoozes` int(10) unsigned NOT NULL DEFAULT 0,
  `lease_token` binary(16) DEFAULT NULL,
  `leased_until` datetime(3) DEFAULT NULL,
  `leased_at` datetime(3) DEFAULT NULL,
  `leased_by` varchar(128) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `last_error` text DEFAULT NULL,
  `first_seen` datetime(3) NOT NULL DEFAULT utc_timestamp(3),
  `last_seen` datetime(3) NOT NULL DEFAULT utc_timestamp(3),
  `due_at` datetime(3) NOT NULL DEFAULT utc_timestamp(3),
  `done_at` datetime(3) DEFAULT NULL,
  `urgent` tinyint(4) GENERATED ALWAYS AS (`status` = 'ERROR') VIRTUAL,
  PRIMARY KEY (`dedupe_key`),
  KEY `by_sume_id` (`sume_id`),
  KEY `by_due` (`state`,`urgent` DESC,`due_at`),
  CONSTRAINT `event_kind` CHECK (`kind` = 'job' and `dedupe_key`  not like 'run:%' or `kind` = 'run' and `dedupe_key` like 'run:%'),
  CONSTRAINT `event_status` CHECK (`status` in ('OK','ERROR')),
  CONSTRAINT `event_state` CHECK (`state` in ('claimed','done','dead'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sume_intents` (
  `idempotency_key` varchar(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `path` varchar(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `body` longtext NOT NULL,
  `body_sha256` binary(32) GENERATED ALWAYS AS (unhex(sha2(`body`,256))) STORED,
  `kind` varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'job',
  `sume_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `state` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'pending',
  `reserved` int(10) unsigned NOT NULL DEFAULT 1,
  `attempts` int(10) unsigned NOT NULL DEFAULT 0,
  `polls` int(10) unsigned NOT NULL DEFAULT 0,
  `lease_token` binary(16) DEFAULT NULL,
  `leased_until` datetime(3) DEFAULT NULL,
  `last_error` text DEFAULT NULL,
  `error_code` varchar(64) DEFAULT NULL,
  `error_request_id` varchar(255) DEFAULT NULL,
  `created_at` datetime(3) NOT NULL DEFAULT utc_timestamp(3),
  `submitted_at` datetime(3) DEFAULT NULL,
  `settled_at` datetime(3) DEFAULT NULL,
  `due_at` datetime(3) NOT NULL DEFAULT utc_timestamp(3),
  PRIMARY KEY (`idempotency_key`),
  UNIQUE KEY `one_intent_per_sume_id` (`sume_id`),
  KEY `by_due` (`state`,`due_at`),
  CONSTRAINT `intent_kind` CHECK (`kind` in ('job','run')),
  CONSTRAINT `intent_state` CHECK (`state` in ('pending','submitted','conflict','rejected','settled','lost')),
  CONSTRAINT `intent_id` CHECK (`state` in ('pending','conflict','rejected') or `sume_id` is not null),
  CONSTRAINT `intent_key` CHECK (`idempotency_key` <> '' and !(`idempotency_key` regexp '[^!-~]')),
  CONSTRAINT `intent_path` CHECK (`path` like '/%' and `path`  not like '//%' and !(`path` regexp '[^!-~]'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sume_migrations` (
  `name` varchar(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `checksum` char(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `applied_at` datetime(3) NOT NULL DEFAULT utc_timestamp(3),
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sume_quarantine` (
  `body_sha256` binary(32) NOT NULL,
  `body` longblob NOT NULL,
  `reason` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `count` int(10) unsigned NOT NULL DEFAULT 1,
  `first_seen` datetime(3) NOT NULL DEFAULT utc_timestamp(3),
  `last_seen` datetime(3) NOT NULL DEFAULT utc_timestamp(3),
  PRIMARY KEY (`body_sha256`),
  KEY `by_last_seen` (`last_seen`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sume_replays` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `dedupe_key` varchar(68) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `what` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `replayed_by` varchar(128) NOT NULL,
  `why` text DEFAULT NULL,
  `replayed_at` datetime(3) NOT NULL DEFAULT utc_timestamp(3),
  PRIMARY KEY (`id`),
  KEY `by_event` (`dedupe_key`,`id`),
  CONSTRAINT `replay_what` CHECK (`what` in ('retry','replay','forced','released'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE ALGORITHM=UNDEFINED SQL SECURITY DEFINER VIEW `sume_jobs` AS select `sume_events`.`dedupe_key` AS `job_id`,`sume_events`.`event` AS `event`,`sume_events`.`status` AS `status`,`sume_events`.`payload` AS `payload`,`sume_events`.`state` AS `state`,`sume_events`.`deliveries` AS `deliveries`,`sume_events`.`first_seen` AS `first_seen` from `sume_events` where `sume_events`.`kind` = 'job' WITH CASCADED CHECK OPTION;
