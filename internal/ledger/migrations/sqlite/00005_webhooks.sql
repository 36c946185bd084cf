-- Endpoints that apps are told of their deliveries at, and what came of the tries.
-- An endpoint's secrets are sealed for its row and host. failing_since is set while
-- no try has succeeded; previous_until is the last moment of the secret that was
-- replaced.

-- +goose Up
CREATE TABLE webhook_endpoints (
  id              BLOB PRIMARY KEY NOT NULL,
  app_id          BLOB NOT NULL,
  revision        INTEGER NOT NULL,
  url             TEXT NOT NULL,
  description     TEXT NOT NULL,
  states          TEXT NOT NULL,
  with_address    INTEGER NOT NULL,
  secret          BLOB NOT NULL,
  previous_secret BLOB,
  previous_until  INTEGER,
  failing_since   INTEGER,
  disabled_at     INTEGER,
  disabled_reason TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_endpoints_app ON webhook_endpoints (app_id, id);

CREATE TABLE webhook_attempts (
  id          BLOB PRIMARY KEY NOT NULL,
  endpoint_id BLOB NOT NULL,
  event_id    BLOB NOT NULL,
  delivery_id BLOB,
  state       TEXT NOT NULL,
  attempt     INTEGER NOT NULL,
  verdict     TEXT NOT NULL,
  code        INTEGER NOT NULL,
  took_us     INTEGER NOT NULL,
  retry_at    INTEGER,
  response    TEXT NOT NULL,
  at          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_attempts_endpoint ON webhook_attempts (endpoint_id, id);
CREATE INDEX webhook_attempts_delivery ON webhook_attempts (delivery_id, id);

-- +goose Down
DROP TABLE webhook_attempts;
DROP TABLE webhook_endpoints;
