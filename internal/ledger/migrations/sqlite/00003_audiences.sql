-- Saved lenses. What an audience says is in its versions: each save adds one, and
-- none is ever changed. A binary that does not know the tables never looks.

-- +goose Up
CREATE TABLE audiences (
  id         BLOB PRIMARY KEY NOT NULL,
  app_id     BLOB    NOT NULL,
  name       TEXT    NOT NULL,
  revision   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  removed_at INTEGER
) STRICT, WITHOUT ROWID;
-- A removed audience's name is free again.
CREATE UNIQUE INDEX audiences_name ON audiences (app_id, name) WHERE removed_at IS NULL;

CREATE TABLE audience_versions (
  audience_id BLOB    NOT NULL,
  revision    INTEGER NOT NULL,
  name        TEXT    NOT NULL,
  definition  TEXT    NOT NULL,
  saved_by    BLOB,
  saved_at    INTEGER NOT NULL,
  PRIMARY KEY (audience_id, revision)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE audience_versions;
DROP TABLE audiences;
