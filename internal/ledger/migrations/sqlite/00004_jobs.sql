-- The tables of the job queue (package jobs), as the queue itself defines them for
-- this database: a test compares. They are made here so that a ledger has one
-- schema, one version and one lock for its migrations.

-- +goose Up
-- State: 0 waiting, 1 scheduled, 2 admitted, 3 quarantined. Lane: 0 fast, 1 slow.
-- Times are microseconds since 1970, 0 for none.
CREATE TABLE job_outbox (
	place        INTEGER PRIMARY KEY AUTOINCREMENT,
	id           BLOB NOT NULL,
	rev          INTEGER NOT NULL,
	state        INTEGER NOT NULL,
	lane         INTEGER NOT NULL,
	grp          TEXT NOT NULL,
	handler      TEXT NOT NULL,
	dedupe_key   TEXT,
	kind         INTEGER NOT NULL,
	bypass       INTEGER NOT NULL,
	durable      INTEGER NOT NULL,
	payload      BLOB NOT NULL,
	run_at       INTEGER NOT NULL,
	max_attempts INTEGER NOT NULL,
	timeout_us   INTEGER NOT NULL,
	attempts     INTEGER NOT NULL,
	enqueued_at  INTEGER NOT NULL,
	refused      INTEGER NOT NULL,
	reason       TEXT NOT NULL,
	epoch        TEXT NOT NULL,
	changed_at   INTEGER NOT NULL
);
CREATE UNIQUE INDEX job_outbox_id ON job_outbox (id);
CREATE UNIQUE INDEX job_outbox_key ON job_outbox (handler, dedupe_key) WHERE state IN (0, 1) AND dedupe_key IS NOT NULL;
CREATE INDEX job_outbox_waiting ON job_outbox (lane, grp, place, changed_at) WHERE state = 0;
CREATE INDEX job_outbox_scheduled ON job_outbox (run_at) WHERE state = 1;
CREATE INDEX job_outbox_admitted ON job_outbox (place) WHERE state = 2;
CREATE INDEX job_outbox_aside ON job_outbox (changed_at) WHERE state = 3;
CREATE TABLE job_leases (
	name  TEXT NOT NULL PRIMARY KEY,
	owner TEXT NOT NULL,
	fence INTEGER NOT NULL,
	until INTEGER NOT NULL
);
CREATE TABLE job_schedules (
	name         TEXT NOT NULL PRIMARY KEY,
	spec         TEXT NOT NULL,
	zone         TEXT NOT NULL,
	enabled      INTEGER NOT NULL,
	handler      TEXT NOT NULL,
	payload      BLOB NOT NULL,
	lane         TEXT NOT NULL,
	max_attempts INTEGER NOT NULL,
	timeout_us   INTEGER NOT NULL,
	next_at      INTEGER NOT NULL,
	last_at      INTEGER NOT NULL
);
-- Says to the queue's own migrations that nothing is left to do.
CREATE TABLE job_schema (version INTEGER NOT NULL PRIMARY KEY);
INSERT INTO job_schema (version) VALUES (1);

-- +goose Down
DROP TABLE job_schema;
DROP TABLE job_schedules;
DROP TABLE job_leases;
DROP TABLE job_outbox;
