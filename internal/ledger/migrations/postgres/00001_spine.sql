-- Times are microseconds since 1970-01-01 UTC, from now_us(): the database's
-- clock is the only one that due times, expiry and heartbeats are measured by.
-- No foreign keys between hot tables: rows of one message are written and
-- removed together, in one transaction.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION now_us() RETURNS bigint LANGUAGE sql STABLE AS
$$ SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::bigint $$;
-- +goose StatementEnd

CREATE TABLE ledger_state (
  one            integer PRIMARY KEY CHECK (one = 1),
  ledger_id      uuid    NOT NULL,
  state          text    NOT NULL CHECK (state IN ('open', 'restoring')),
  restored_at    bigint,
  oldest_binary  bigint  NOT NULL
);

CREATE TABLE settings (
  name  text PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE apps (
  id         uuid PRIMARY KEY,
  name       text   NOT NULL,
  created_at bigint NOT NULL,
  removed_at bigint
);
-- A removed app's or profile's name is free again.
CREATE UNIQUE INDEX apps_name ON apps (name) WHERE removed_at IS NULL;

CREATE TABLE api_keys (
  id         uuid PRIMARY KEY,
  app_id     uuid,
  name       text   NOT NULL,
  scopes     text   NOT NULL,
  sum        bytea  NOT NULL UNIQUE,
  hint       text   NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint
);
CREATE INDEX api_keys_app ON api_keys (app_id, id);

CREATE TABLE profiles (
  id           uuid PRIMARY KEY,
  name         text    NOT NULL,
  revision     bigint  NOT NULL,
  is_default   boolean NOT NULL,
  config       text    NOT NULL,
  secrets      bytea,
  paused_at    bigint,
  pause_reason text,
  alarm        text,
  removed_at   bigint,
  created_at   bigint  NOT NULL,
  updated_at   bigint  NOT NULL
);
CREATE UNIQUE INDEX profiles_name ON profiles (name) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX profiles_default ON profiles (is_default) WHERE is_default;

CREATE TABLE app_profiles (
  app_id       uuid    NOT NULL,
  profile_id   uuid    NOT NULL,
  trusted_html boolean NOT NULL,
  quota        bigint,
  created_at   bigint  NOT NULL,
  revoked_at   bigint,
  PRIMARY KEY (app_id, profile_id)
);

CREATE TABLE messages (
  id                uuid PRIMARY KEY,
  app_id            uuid   NOT NULL,
  api_key_id        uuid,
  request_id        text   NOT NULL,
  profile_id        uuid   NOT NULL,
  profile_name      text   NOT NULL,
  tenant            text   NOT NULL DEFAULT '',
  locale            text   NOT NULL DEFAULT '',
  channel           text   NOT NULL DEFAULT 'email',
  lane              text   NOT NULL,
  batch_id          uuid,
  mailing_id        uuid,
  ref_scope         text   NOT NULL DEFAULT '',
  ref_id            text   NOT NULL DEFAULT '',
  category          text   NOT NULL,
  subject           text   NOT NULL,
  header_message_id text   NOT NULL DEFAULT '',
  size_bytes        bigint NOT NULL,
  recipients        integer NOT NULL,
  unsettled         integer NOT NULL,
  actor_type        text   NOT NULL DEFAULT '',
  actor_id          text   NOT NULL DEFAULT '',
  actor_name        text   NOT NULL DEFAULT '',
  send_at           bigint,
  expires_at        bigint,
  created_at        bigint NOT NULL,
  settled_at        bigint,
  content_purged_at bigint,
  resend_of         uuid
);
CREATE INDEX messages_app ON messages (app_id, id);
CREATE INDEX messages_batch ON messages (batch_id, id) WHERE batch_id IS NOT NULL;
CREATE INDEX messages_ref ON messages (app_id, ref_scope, ref_id, id) WHERE ref_id <> '';

-- The content apart from the row that every settle updates: a settle then
-- rewrites some 200 bytes, and a purge is one delete.
CREATE TABLE message_contents (
  message_id  uuid PRIMARY KEY,
  text_body   text  NOT NULL DEFAULT '',
  html_body   text  NOT NULL DEFAULT '',
  headers     text  NOT NULL DEFAULT '',
  from_name   text  NOT NULL DEFAULT '',
  reply_to    text  NOT NULL DEFAULT '',
  attachments text  NOT NULL DEFAULT ''
);
-- +goose StatementBegin
DO $$ BEGIN
  ALTER TABLE message_contents ALTER COLUMN text_body SET COMPRESSION lz4, ALTER COLUMN html_body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL; -- a server built without lz4 keeps pglz: dearer, not wrong
END $$;
-- +goose StatementEnd

-- due_at is set exactly while a delivery is queued, lease_worker exactly while
-- it is sending, resolve_by exactly while it is unconfirmed. Index predicates
-- use those columns and guards use status: a guard that repeats an index
-- predicate lures the planner away from the primary key.
CREATE TABLE deliveries (
  id                  uuid PRIMARY KEY,
  message_id          uuid   NOT NULL,
  envelope_id         uuid   NOT NULL,
  mailing_id          uuid,
  app_id              uuid   NOT NULL,
  profile_id          uuid   NOT NULL,
  created_at          bigint NOT NULL,
  due_at              bigint,
  leased_at           bigint,
  lease_worker        uuid,
  first_charged_at    bigint,
  expires_at          bigint,
  dated_at            bigint,
  cancel_requested_at bigint,
  sent_at             bigint,
  settled_at          bigint,
  resolve_by          bigint,
  fence               bigint   NOT NULL DEFAULT 0,
  attempts            integer  NOT NULL DEFAULT 0,
  uncharged           integer  NOT NULL DEFAULT 0,
  position            smallint NOT NULL,
  kind                text     NOT NULL,
  lane                text     NOT NULL,
  status              text     NOT NULL,
  reason              text     NOT NULL DEFAULT '',
  resent              boolean  NOT NULL DEFAULT false,
  address             text     NOT NULL,
  address_folded      text COLLATE "C" NOT NULL,
  display_name        text     NOT NULL DEFAULT '',
  recipient_key       text     NOT NULL DEFAULT '',
  provider_id         text     NOT NULL DEFAULT '',
  response            text     NOT NULL DEFAULT ''
);
CREATE INDEX deliveries_due ON deliveries (profile_id, lane, app_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_lease ON deliveries (lease_worker) WHERE lease_worker IS NOT NULL;
CREATE INDEX deliveries_message ON deliveries (message_id);
CREATE INDEX deliveries_app ON deliveries (app_id, status, id);
CREATE INDEX deliveries_mailing ON deliveries (mailing_id, status, id) WHERE mailing_id IS NOT NULL;
CREATE INDEX deliveries_address ON deliveries (address_folded, id);
CREATE INDEX deliveries_unconfirmed ON deliveries (id) WHERE resolve_by IS NOT NULL;
CREATE INDEX deliveries_deadline ON deliveries (expires_at, id) WHERE expires_at IS NOT NULL AND due_at IS NOT NULL;

CREATE TABLE delivery_events (
  id          uuid PRIMARY KEY,
  delivery_id uuid   NOT NULL,
  at          bigint NOT NULL,
  kind        text   NOT NULL,
  from_status text   NOT NULL,
  to_status   text   NOT NULL,
  reason      text   NOT NULL DEFAULT '',
  fence       bigint NOT NULL,
  attempt     integer NOT NULL,
  phase       text   NOT NULL DEFAULT '',
  code        integer NOT NULL DEFAULT 0,
  enhanced    text   NOT NULL DEFAULT '',
  response    text   NOT NULL DEFAULT '',
  actor       text   NOT NULL DEFAULT ''
);
CREATE INDEX delivery_events_delivery ON delivery_events (delivery_id, id);

CREATE TABLE idempotency_keys (
  app_id      uuid   NOT NULL,
  key         text   NOT NULL,
  fingerprint text   NOT NULL,
  message_id  uuid,
  batch_id    uuid,
  created_at  bigint NOT NULL,
  PRIMARY KEY (app_id, key)
);

CREATE TABLE quotas (
  app_id     uuid   NOT NULL,
  profile_id uuid   NOT NULL,
  used       bigint NOT NULL CHECK (used >= 0),
  swept      bigint NOT NULL,
  PRIMARY KEY (app_id, profile_id)
);
CREATE TABLE quota_minutes (
  app_id     uuid   NOT NULL,
  profile_id uuid   NOT NULL,
  minute     bigint NOT NULL,
  n          bigint NOT NULL,
  PRIMARY KEY (app_id, profile_id, minute)
);

-- What was accepted and settled, counted apart from the rows. Sums are kept for
-- good; removed is what retention took away, so that rows + removed = sum.
CREATE TABLE accept_counts (
  hour       bigint NOT NULL,
  app_id     uuid   NOT NULL,
  profile_id uuid   NOT NULL,
  lane       text   NOT NULL,
  messages   bigint NOT NULL,
  deliveries bigint NOT NULL,
  messages_removed bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, app_id, profile_id, lane)
);
CREATE TABLE stats_hours (
  hour       bigint NOT NULL,
  app_id     uuid   NOT NULL,
  profile_id uuid   NOT NULL,
  lane       text   NOT NULL,
  status     text   NOT NULL,
  reason     text   NOT NULL,
  n          bigint NOT NULL,
  removed    bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, app_id, profile_id, lane, status, reason)
);

CREATE TABLE suppressions (
  app_id         uuid NOT NULL,
  address_folded text COLLATE "C" NOT NULL,
  reason         text   NOT NULL,
  source         text   NOT NULL,
  created_at     bigint NOT NULL,
  PRIMARY KEY (app_id, address_folded)
);

CREATE TABLE workers (
  id         uuid PRIMARY KEY,
  host       text   NOT NULL,
  boot_id    text   NOT NULL,
  pid        integer NOT NULL,
  version    text   NOT NULL,
  started_at bigint NOT NULL,
  beat       bigint NOT NULL,
  beat_at    bigint NOT NULL,
  ended_at   bigint
);

CREATE TABLE audit_events (
  id          uuid PRIMARY KEY,
  at          bigint NOT NULL,
  app_id      uuid,
  api_key_id  uuid,
  request_id  text NOT NULL DEFAULT '',
  actor_type  text NOT NULL DEFAULT '',
  actor_id    text NOT NULL DEFAULT '',
  action      text NOT NULL,
  target_type text NOT NULL DEFAULT '',
  target_id   text NOT NULL DEFAULT '',
  result      text NOT NULL,
  detail      text NOT NULL DEFAULT ''
);
CREATE INDEX audit_events_app ON audit_events (app_id, id);

-- Blobs to delete from the store once due.
CREATE TABLE blob_trash (
  key      text PRIMARY KEY,
  due_at   bigint NOT NULL
);

-- +goose Down
DROP TABLE blob_trash, audit_events, workers, suppressions, stats_hours, accept_counts, quota_minutes, quotas,
  idempotency_keys, delivery_events, deliveries, message_contents, messages, app_profiles, profiles, api_keys, apps,
  settings, ledger_state;
DROP FUNCTION now_us();
