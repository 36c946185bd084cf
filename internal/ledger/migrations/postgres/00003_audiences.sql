-- Saved lenses. What an audience says is in its versions: each save adds one, and
-- none is ever changed. A binary that does not know the tables never looks.

-- +goose Up
CREATE TABLE audiences (
  id         uuid PRIMARY KEY,
  app_id     uuid   NOT NULL,
  name       text COLLATE "C" NOT NULL,
  revision   bigint NOT NULL,
  created_at bigint NOT NULL,
  removed_at bigint
);
-- A removed audience's name is free again.
CREATE UNIQUE INDEX audiences_name ON audiences (app_id, name) WHERE removed_at IS NULL;

CREATE TABLE audience_versions (
  audience_id uuid   NOT NULL,
  revision    bigint NOT NULL,
  name        text   NOT NULL,
  definition  text   NOT NULL,
  saved_by    uuid,
  saved_at    bigint NOT NULL,
  PRIMARY KEY (audience_id, revision)
);

-- +goose Down
DROP TABLE audience_versions;
DROP TABLE audiences;
