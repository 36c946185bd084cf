-- State: 0 waiting, 1 scheduled, 2 admitted, 3 quarantined. Lane: 0 fast, 1 slow.
-- Times are microseconds since 1970, 0 for none. Names are binary: two keys are
-- the same only when their bytes are, and a blank at the end counts.
-- A CREATE cannot be undone here, so each bears to be run again.
CREATE TABLE IF NOT EXISTS job_outbox (
	place        BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
	id           BINARY(16) NOT NULL,
	rev          BIGINT NOT NULL,
	state        TINYINT NOT NULL,
	lane         TINYINT NOT NULL,
	grp          VARBINARY(255) NOT NULL,
	handler      VARBINARY(128) NOT NULL,
	dedupe_key   VARBINARY(255),
	kind         TINYINT NOT NULL,
	bypass       TINYINT NOT NULL,
	durable      TINYINT NOT NULL,
	payload      MEDIUMBLOB NOT NULL,
	run_at       BIGINT NOT NULL,
	max_attempts INT NOT NULL,
	timeout_us   BIGINT NOT NULL,
	attempts     INT NOT NULL,
	enqueued_at  BIGINT NOT NULL,
	refused      INT NOT NULL,
	reason       VARBINARY(4000) NOT NULL,
	epoch        VARBINARY(64) NOT NULL,
	changed_at   BIGINT NOT NULL,
	buffered_key VARBINARY(255) AS (IF(state < 2, dedupe_key, NULL)) STORED,
	UNIQUE KEY job_outbox_id (id),
	UNIQUE KEY job_outbox_key (buffered_key, handler),
	KEY job_outbox_waiting (state, lane, grp, place, changed_at),
	KEY job_outbox_scheduled (state, run_at),
	KEY job_outbox_aside (state, changed_at)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS job_leases (
	name  VARBINARY(255) NOT NULL PRIMARY KEY,
	owner VARBINARY(255) NOT NULL,
	fence BIGINT NOT NULL,
	until BIGINT NOT NULL
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS job_schedules (
	name         VARBINARY(255) NOT NULL PRIMARY KEY,
	spec         VARBINARY(255) NOT NULL,
	zone         VARBINARY(64) NOT NULL,
	enabled      TINYINT NOT NULL,
	handler      VARBINARY(128) NOT NULL,
	payload      MEDIUMBLOB NOT NULL,
	lane         VARBINARY(8) NOT NULL,
	max_attempts INT NOT NULL,
	timeout_us   BIGINT NOT NULL,
	next_at      BIGINT NOT NULL,
	last_at      BIGINT NOT NULL
) ENGINE = InnoDB;
