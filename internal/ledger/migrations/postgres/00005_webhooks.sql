-- Endpoints that apps are told of their deliveries at, and what came of the tries.
-- An endpoint's secrets are sealed for its row and host. failing_since is set while
-- no try has succeeded; previous_until is the last moment of the secret that was
-- replaced.

-- +goose Up
CREATE TABLE webhook_endpoints (
  id              uuid PRIMARY KEY,
  app_id          uuid    NOT NULL,
  revision        bigint  NOT NULL,
  url             text    NOT NULL,
  description     text    NOT NULL,
  states          text    NOT NULL,
  with_address    boolean NOT NULL,
  secret          bytea   NOT NULL,
  previous_secret bytea,
  previous_until  bigint,
  failing_since   bigint,
  disabled_at     bigint,
  disabled_reason text    NOT NULL,
  created_at      bigint  NOT NULL,
  updated_at      bigint  NOT NULL
);
CREATE INDEX webhook_endpoints_app ON webhook_endpoints (app_id, id);

CREATE TABLE webhook_attempts (
  id          uuid PRIMARY KEY,
  endpoint_id uuid    NOT NULL,
  event_id    uuid    NOT NULL,
  delivery_id uuid,
  state       text    NOT NULL,
  attempt     integer NOT NULL,
  verdict     text    NOT NULL,
  code        integer NOT NULL,
  took_us     bigint  NOT NULL,
  retry_at    bigint,
  response    text    NOT NULL,
  at          bigint  NOT NULL
);
CREATE INDEX webhook_attempts_endpoint ON webhook_attempts (endpoint_id, id);
CREATE INDEX webhook_attempts_delivery ON webhook_attempts (delivery_id, id);

-- +goose Down
DROP TABLE webhook_attempts;
DROP TABLE webhook_endpoints;
