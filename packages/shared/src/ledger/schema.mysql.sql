-- MySQL 9.7
CREATE TABLE `sume_attempts` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `dedupe_key` varchar(68) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `attempt` int unsigned NOT NULL,
  `worker` varchar(128) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `started_at` datetime(3) DEFAULT NULL,
  `ended_at` datetime(3) DEFAULT NULL,
  `outcome` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `error` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (`id`),
  KEY `by_event` (`dedupe_key`,`id`),
  CONSTRAINT `attempt_outcome` CHECK ((`outcome` in (_utf8mb4'retry',_utf8mb4'dead',_utf8mb4'snooze',_utf8mb4'lost')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sume_events` (
  `dedupe_key` varchar(68) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `kind` varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'job',
  `sume_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT (`dedupe_key`),
  `request_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `event` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `status` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `payload` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `source` varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'webhook',
  `state` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'claimed',
  `deliveries` int unsigned NOT NULL DEFAULT '1',
  `diverged` tinyint NOT NULL DEFAULT '0',
  `attempts` int unsigned NOT NULL DEFAULT '0',
  `snoozes` int unsigned NOT NULL DEFAULT '0',
  `lease_token` binary(16) DEFAULT NULL,
  `leased_until` datetime(3) DEFAULT NULL,
  `leased_at` datetime(3) DEFAULT NULL,
  `leased_by` varchar(128) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `last_error` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `first_seen` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
  `last_seen` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
  `due_at` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
  `done_at` datetime(3) DEFAULT NULL,
  `urgent` tinyint GENERATED ALWAYS AS ((`status` = _ascii'ERROR')) VIRTUAL,
  PRIMARY KEY (`dedupe_key`),
  KEY `by_sume_id` (`sume_id`),
  KEY `by_due` (`state`,`urgent` DESC,`due_at`),
  CONSTRAINT `event_kind` CHECK ((((`kind` = _utf8mb4'job') and (not((`dedupe_key` like _utf8mb4'run:%')))) or ((`kind` = _utf8mb4'run') and (`dedupe_key` like _utf8mb4'run:%')))),
  CONSTRAINT `event_state` CHECK ((`state` in (_utf8mb4'claimed',_utf8mb4'done',_utf8mb4'dead'))),
  CONSTRAINT `event_status` CHECK ((`status` in (_utf8mb4'OK',_utf8mb4'ERROR')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sume_intents` (
  `idempotency_key` varchar(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `path` varchar(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `body` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `body_sha256` binary(32) GENERATED ALWAYS AS (unhex(sha2(`body`,256))) STORED,
  `kind` varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'job',
  `sume_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `state` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'pending',
  `reserved` int unsigned NOT NULL DEFAULT '1',
  `attempts` int unsigned NOT NULL DEFAULT '0',
  `polls` int unsigned NOT NULL DEFAULT '0',
  `lease_token` binary(16) DEFAULT NULL,
  `leased_until` datetime(3) DEFAULT NULL,
  `last_error` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `error_code` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `error_request_id` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `created_at` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
  `submitted_at` datetime(3) DEFAULT NULL,
  `settled_at` datetime(3) DEFAULT NULL,
  `due_at` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
  PRIMARY KEY (`idempotency_key`),
  UNIQUE KEY `one_intent_per_sume_id` (`sume_id`),
  KEY `by_due` (`state`,`due_at`),
  CONSTRAINT `intent_id` CHECK (((`state` in (_ascii'pending',_ascii'conflict',_ascii'rejected')) or (`sume_id` is not null))),
  CONSTRAINT `intent_key` CHECK (((`idempotency_key` <> _utf8mb4'') and (not(regexp_like(`idempotency_key`,_utf8mb4'[^!-~]'))))),
  CONSTRAINT `intent_kind` CHECK ((`kind` in (_ascii'job',_ascii'run'))),
  CONSTRAINT `intent_path` CHECK (((`path` like _utf8mb4'/%') and (not((`path` like _utf8mb4'//%'))) and (not(regexp_like(`path`,_utf8mb4'[^!-~]'))))),
  CONSTRAINT `intent_state` CHECK ((`state` in (_ascii'pending',_ascii'submitted',_ascii'conflict',_ascii'rejected',_ascii'settled',_ascii'lost')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sume_migrations` (
  `name` varchar(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `checksum` char(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `applied_at` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sume_quarantine` (
  `body_sha256` binary(32) NOT NULL,
  `body` longblob NOT NULL,
  `reason` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `count` int unsigned NOT NULL DEFAULT '1',
  `first_seen` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
  `last_seen` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
  PRIMARY KEY (`body_sha256`),
  KEY `by_last_seen` (`last_seen`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `sume_replays` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `dedupe_key` varchar(68) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `what` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `replayed_by` varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `why` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `replayed_at` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
  PRIMARY KEY (`id`),
  KEY `by_event` (`dedupe_key`,`id`),
  CONSTRAINT `replay_what` CHECK ((`what` in (_utf8mb4'retry',_utf8mb4'replay',_utf8mb4'forced',_utf8mb4'released')))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE ALGORITHM=UNDEFINED SQL SECURITY DEFINER VIEW `sume_jobs` AS select `sume_events`.`dedupe_key` AS `job_id`,`sume_events`.`event` AS `event`,`sume_events`.`status` AS `status`,`sume_events`.`payload` AS `payload`,`sume_events`.`state` AS `state`,`sume_events`.`deliveries` AS `deliveries`,`sume_events`.`first_seen` AS `first_seen` from `sume_events` where (`sume_events`.`kind` = 'job') WITH CASCADED CHECK OPTION;
