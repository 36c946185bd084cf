-- Bodies that messages of one batch share are kept once. A content is then without
-- bodies of its own, so a binary that does not know of it would send empty mail: what
-- it calls message_contents is a view from here on, in which each content has its
-- bodies, and which passes on what it inserts and deletes.

-- +goose Up
-- The table is asked for a second at a time: whoever asks behind this one waits for
-- whoever holds it, and accepts and leases must not wait for a report.
-- +goose StatementBegin
DO $$
DECLARE tries integer := 0;
BEGIN
  SET LOCAL lock_timeout = '1s';
  LOOP
    BEGIN
      LOCK TABLE message_contents IN ACCESS EXCLUSIVE MODE;
      EXIT;
    EXCEPTION WHEN lock_not_available THEN
      tries := tries + 1;
      IF tries = 30 THEN RAISE; END IF;
      PERFORM pg_sleep(1);
    END;
  END LOOP;
END $$;
-- +goose StatementEnd
ALTER TABLE message_contents RENAME TO contents;
ALTER INDEX message_contents_pkey RENAME TO contents_pkey;
ALTER TABLE contents ADD COLUMN shared_id uuid;

-- A shared body has the id of the first message that was accepted with it, and
-- counts the contents that have it. Nothing else of it ever changes.
CREATE TABLE shared_bodies (
  id        uuid PRIMARY KEY,
  text_body text   NOT NULL,
  html_body text   NOT NULL,
  refs      bigint NOT NULL
);
-- +goose StatementBegin
DO $$ BEGIN
  ALTER TABLE shared_bodies ALTER COLUMN text_body SET COMPRESSION lz4, ALTER COLUMN html_body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;
-- +goose StatementEnd

CREATE TYPE accept_shared_body AS (id uuid, text_body text, html_body text, refs bigint);
CREATE TYPE accept_shared_content AS (
  message_id uuid, text_body text, html_body text, headers text, from_name text, reply_to text, attachments text,
  shared_id uuid);

CREATE VIEW message_contents AS SELECT c.message_id,
  CASE WHEN c.shared_id IS NULL THEN c.text_body ELSE (SELECT s.text_body FROM shared_bodies s WHERE s.id = c.shared_id) END AS text_body,
  CASE WHEN c.shared_id IS NULL THEN c.html_body ELSE (SELECT s.html_body FROM shared_bodies s WHERE s.id = c.shared_id) END AS html_body,
  c.headers, c.from_name, c.reply_to, c.attachments
  FROM contents c;
-- +goose StatementBegin
CREATE FUNCTION message_contents_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO contents (message_id, text_body, html_body, headers, from_name, reply_to, attachments)
  VALUES (NEW.message_id, coalesce(NEW.text_body, ''), coalesce(NEW.html_body, ''), coalesce(NEW.headers, ''),
    coalesce(NEW.from_name, ''), coalesce(NEW.reply_to, ''), coalesce(NEW.attachments, ''));
  RETURN NEW;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION message_contents_delete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE shared uuid;
BEGIN
  DELETE FROM contents WHERE message_id = OLD.message_id RETURNING shared_id INTO shared;
  IF NOT FOUND THEN RETURN NULL; END IF;
  UPDATE shared_bodies SET refs = refs - 1 WHERE id = shared;
  DELETE FROM shared_bodies WHERE id = shared AND refs <= 0;
  RETURN OLD;
END $$;
-- +goose StatementEnd
CREATE TRIGGER message_contents_insert INSTEAD OF INSERT ON message_contents
  FOR EACH ROW EXECUTE FUNCTION message_contents_insert();
CREATE TRIGGER message_contents_delete INSTEAD OF DELETE ON message_contents
  FOR EACH ROW EXECUTE FUNCTION message_contents_delete();

-- +goose Down
DROP VIEW message_contents;
DROP FUNCTION message_contents_insert(), message_contents_delete();
UPDATE contents c SET text_body = s.text_body, html_body = s.html_body FROM shared_bodies s WHERE s.id = c.shared_id;
ALTER TABLE contents DROP COLUMN shared_id;
ALTER TABLE contents RENAME TO message_contents;
ALTER INDEX contents_pkey RENAME TO message_contents_pkey;
DROP TABLE shared_bodies;
DROP TYPE accept_shared_body, accept_shared_content;
