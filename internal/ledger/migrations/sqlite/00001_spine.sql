-- Times are microseconds since 1970-01-01 UTC, by the process's clock. Ids are
-- 16-byte blobs. WITHOUT ROWID: rows lie in id order, which is time order.
-- No foreign keys between hot tables: rows of one message are written and
-- removed together, in one transaction.

-- +goose Up
CREATE TABLE ledger_state (
  one            INTEGER PRIMARY KEY NOT NULL CHECK (one = 1),
  ledger_id      BLOB    NOT NULL,
  state          TEXT    NOT NULL CHECK (state IN ('open', 'restoring')),
  restored_at    INTEGER,
  oldest_binary  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
  name  TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE apps (
  id         BLOB PRIMARY KEY NOT NULL,
  name       TEXT   NOT NULL,
  created_at INTEGER NOT NULL,
  removed_at INTEGER
) STRICT, WITHOUT ROWID;
-- A removed app's or profile's name is free again.
CREATE UNIQUE INDEX apps_name ON apps (name) WHERE removed_at IS NULL;

CREATE TABLE api_keys (
  id         BLOB PRIMARY KEY NOT NULL,
  app_id     BLOB,
  name       TEXT   NOT NULL,
  scopes     TEXT   NOT NULL,
  sum        BLOB  NOT NULL UNIQUE,
  hint       TEXT   NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_app ON api_keys (app_id, id);

CREATE TABLE profiles (
  id           BLOB PRIMARY KEY NOT NULL,
  name         TEXT    NOT NULL,
  revision     INTEGER  NOT NULL,
  is_default   INTEGER NOT NULL,
  config       TEXT    NOT NULL,
  secrets      BLOB,
  paused_at    INTEGER,
  pause_reason TEXT,
  alarm        TEXT,
  removed_at   INTEGER,
  created_at   INTEGER  NOT NULL,
  updated_at   INTEGER  NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX profiles_name ON profiles (name) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX profiles_default ON profiles (is_default) WHERE is_default = 1;

CREATE TABLE app_profiles (
  app_id       BLOB    NOT NULL,
  profile_id   BLOB    NOT NULL,
  trusted_html INTEGER NOT NULL,
  quota        INTEGER,
  created_at   INTEGER  NOT NULL,
  revoked_at   INTEGER,
  PRIMARY KEY (app_id, profile_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
  id                BLOB PRIMARY KEY NOT NULL,
  app_id            BLOB   NOT NULL,
  api_key_id        BLOB,
  request_id        TEXT   NOT NULL,
  profile_id        BLOB   NOT NULL,
  profile_name      TEXT   NOT NULL,
  tenant            TEXT   NOT NULL DEFAULT '',
  locale            TEXT   NOT NULL DEFAULT '',
  channel           TEXT   NOT NULL DEFAULT 'email',
  lane              TEXT   NOT NULL,
  batch_id          BLOB,
  mailing_id        BLOB,
  ref_scope         TEXT   NOT NULL DEFAULT '',
  ref_id            TEXT   NOT NULL DEFAULT '',
  category          TEXT   NOT NULL,
  subject           TEXT   NOT NULL,
  header_message_id TEXT   NOT NULL DEFAULT '',
  size_bytes        INTEGER NOT NULL,
  recipients        INTEGER NOT NULL,
  unsettled         INTEGER NOT NULL,
  actor_type        TEXT   NOT NULL DEFAULT '',
  actor_id          TEXT   NOT NULL DEFAULT '',
  actor_name        TEXT   NOT NULL DEFAULT '',
  send_at           INTEGER,
  expires_at        INTEGER,
  created_at        INTEGER NOT NULL,
  settled_at        INTEGER,
  content_purged_at INTEGER,
  resend_of         BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX messages_app ON messages (app_id, id);
CREATE INDEX messages_batch ON messages (batch_id, id) WHERE batch_id IS NOT NULL;
CREATE INDEX messages_ref ON messages (app_id, ref_scope, ref_id, id) WHERE ref_id <> '';

-- A rowid table: rows are large, and a WITHOUT ROWID tree would keep them in
-- its inner pages.
-- The content apart from the row that every settle updates: a settle then
-- rewrites some 200 bytes, and a purge is one delete.
CREATE TABLE message_contents (
  message_id  BLOB PRIMARY KEY NOT NULL,
  text_body   TEXT  NOT NULL DEFAULT '',
  html_body   TEXT  NOT NULL DEFAULT '',
  headers     TEXT  NOT NULL DEFAULT '',
  from_name   TEXT  NOT NULL DEFAULT '',
  reply_to    TEXT  NOT NULL DEFAULT '',
  attachments TEXT  NOT NULL DEFAULT ''
) STRICT;

-- due_at is set exactly while a delivery is queued, lease_worker exactly while
-- it is sending, resolve_by exactly while it is unconfirmed. Index predicates
-- use those columns and guards use status: a guard that repeats an index
-- predicate lures the planner away from the primary key.
CREATE TABLE deliveries (
  id                  BLOB PRIMARY KEY NOT NULL,
  message_id          BLOB   NOT NULL,
  envelope_id         BLOB   NOT NULL,
  mailing_id          BLOB,
  app_id              BLOB   NOT NULL,
  profile_id          BLOB   NOT NULL,
  created_at          INTEGER NOT NULL,
  due_at              INTEGER,
  leased_at           INTEGER,
  lease_worker        BLOB,
  first_charged_at    INTEGER,
  expires_at          INTEGER,
  dated_at            INTEGER,
  cancel_requested_at INTEGER,
  sent_at             INTEGER,
  settled_at          INTEGER,
  resolve_by          INTEGER,
  fence               INTEGER   NOT NULL DEFAULT 0,
  attempts            INTEGER  NOT NULL DEFAULT 0,
  uncharged           INTEGER  NOT NULL DEFAULT 0,
  position            INTEGER NOT NULL,
  kind                TEXT     NOT NULL,
  lane                TEXT     NOT NULL,
  status              TEXT     NOT NULL,
  reason              TEXT     NOT NULL DEFAULT '',
  resent              INTEGER  NOT NULL DEFAULT 0,
  address             TEXT     NOT NULL,
  address_folded      TEXT NOT NULL,
  display_name        TEXT     NOT NULL DEFAULT '',
  recipient_key       TEXT     NOT NULL DEFAULT '',
  provider_id         TEXT     NOT NULL DEFAULT '',
  response            TEXT     NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (profile_id, lane, app_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_lease ON deliveries (lease_worker) WHERE lease_worker IS NOT NULL;
CREATE INDEX deliveries_message ON deliveries (message_id);
CREATE INDEX deliveries_app ON deliveries (app_id, status, id);
CREATE INDEX deliveries_mailing ON deliveries (mailing_id, status, id) WHERE mailing_id IS NOT NULL;
CREATE INDEX deliveries_address ON deliveries (address_folded, id);
CREATE INDEX deliveries_unconfirmed ON deliveries (id) WHERE resolve_by IS NOT NULL;
CREATE INDEX deliveries_deadline ON deliveries (expires_at, id) WHERE expires_at IS NOT NULL AND due_at IS NOT NULL;

CREATE TABLE delivery_events (
  id          BLOB PRIMARY KEY NOT NULL,
  delivery_id BLOB   NOT NULL,
  at          INTEGER NOT NULL,
  kind        TEXT   NOT NULL,
  from_status TEXT   NOT NULL,
  to_status   TEXT   NOT NULL,
  reason      TEXT   NOT NULL DEFAULT '',
  fence       INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  phase       TEXT   NOT NULL DEFAULT '',
  code        INTEGER NOT NULL DEFAULT 0,
  enhanced    TEXT   NOT NULL DEFAULT '',
  response    TEXT   NOT NULL DEFAULT '',
  actor       TEXT   NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_events_delivery ON delivery_events (delivery_id, id);

CREATE TABLE idempotency_keys (
  app_id      BLOB   NOT NULL,
  key         TEXT   NOT NULL,
  fingerprint TEXT   NOT NULL,
  message_id  BLOB,
  batch_id    BLOB,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (app_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE quotas (
  app_id     BLOB   NOT NULL,
  profile_id BLOB   NOT NULL,
  used       INTEGER NOT NULL CHECK (used >= 0),
  swept      INTEGER NOT NULL,
  PRIMARY KEY (app_id, profile_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE quota_minutes (
  app_id     BLOB   NOT NULL,
  profile_id BLOB   NOT NULL,
  minute     INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  PRIMARY KEY (app_id, profile_id, minute)
) STRICT, WITHOUT ROWID;

-- What was accepted and settled, counted apart from the rows. Sums are kept for
-- good; removed is what retention took away, so that rows + removed = sum.
CREATE TABLE accept_counts (
  hour       INTEGER NOT NULL,
  app_id     BLOB   NOT NULL,
  profile_id BLOB   NOT NULL,
  lane       TEXT   NOT NULL,
  messages   INTEGER NOT NULL,
  deliveries INTEGER NOT NULL,
  messages_removed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, app_id, profile_id, lane)
) STRICT, WITHOUT ROWID;
CREATE TABLE stats_hours (
  hour       INTEGER NOT NULL,
  app_id     BLOB   NOT NULL,
  profile_id BLOB   NOT NULL,
  lane       TEXT   NOT NULL,
  status     TEXT   NOT NULL,
  reason     TEXT   NOT NULL,
  n          INTEGER NOT NULL,
  removed    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, app_id, profile_id, lane, status, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE suppressions (
  app_id         BLOB NOT NULL,
  address_folded TEXT NOT NULL,
  reason         TEXT   NOT NULL,
  source         TEXT   NOT NULL,
  created_at     INTEGER NOT NULL,
  PRIMARY KEY (app_id, address_folded)
) STRICT, WITHOUT ROWID;

CREATE TABLE workers (
  id         BLOB PRIMARY KEY NOT NULL,
  host       TEXT   NOT NULL,
  boot_id    TEXT   NOT NULL,
  pid        INTEGER NOT NULL,
  version    TEXT   NOT NULL,
  started_at INTEGER NOT NULL,
  beat       INTEGER NOT NULL,
  beat_at    INTEGER NOT NULL,
  ended_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_events (
  id          BLOB PRIMARY KEY NOT NULL,
  at          INTEGER NOT NULL,
  app_id      BLOB,
  api_key_id  BLOB,
  request_id  TEXT NOT NULL DEFAULT '',
  actor_type  TEXT NOT NULL DEFAULT '',
  actor_id    TEXT NOT NULL DEFAULT '',
  action      TEXT NOT NULL,
  target_type TEXT NOT NULL DEFAULT '',
  target_id   TEXT NOT NULL DEFAULT '',
  result      TEXT NOT NULL,
  detail      TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_events_app ON audit_events (app_id, id);

-- Blobs to delete from the store once due.
CREATE TABLE blob_trash (
  key      TEXT PRIMARY KEY NOT NULL,
  due_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE blob_trash;
DROP TABLE audit_events;
DROP TABLE workers;
DROP TABLE suppressions;
DROP TABLE stats_hours;
DROP TABLE accept_counts;
DROP TABLE quota_minutes;
DROP TABLE quotas;
DROP TABLE idempotency_keys;
DROP TABLE delivery_events;
DROP TABLE deliveries;
DROP TABLE message_contents;
DROP TABLE messages;
DROP TABLE app_profiles;
DROP TABLE profiles;
DROP TABLE api_keys;
DROP TABLE apps;
DROP TABLE settings;
DROP TABLE ledger_state;
