-- Bodies that messages of one batch share are kept once. A content is then without
-- bodies of its own, so a binary that does not know of it would send empty mail: what
-- it calls message_contents is a view from here on, in which each content has its
-- bodies, and which passes on what it inserts and deletes.

-- +goose Up
ALTER TABLE message_contents RENAME TO contents;
ALTER TABLE contents ADD COLUMN shared_id BLOB;

-- A shared body has the id of the first message that was accepted with it, and
-- counts the contents that have it. Nothing else of it ever changes.
CREATE TABLE shared_bodies (
  id        BLOB PRIMARY KEY NOT NULL,
  text_body TEXT    NOT NULL,
  html_body TEXT    NOT NULL,
  refs      INTEGER NOT NULL
) STRICT;

CREATE VIEW message_contents AS SELECT c.message_id,
  CASE WHEN c.shared_id IS NULL THEN c.text_body ELSE (SELECT s.text_body FROM shared_bodies s WHERE s.id = c.shared_id) END AS text_body,
  CASE WHEN c.shared_id IS NULL THEN c.html_body ELSE (SELECT s.html_body FROM shared_bodies s WHERE s.id = c.shared_id) END AS html_body,
  c.headers, c.from_name, c.reply_to, c.attachments
  FROM contents c;
-- +goose StatementBegin
CREATE TRIGGER message_contents_insert INSTEAD OF INSERT ON message_contents BEGIN
  INSERT INTO contents (message_id, text_body, html_body, headers, from_name, reply_to, attachments)
  VALUES (NEW.message_id, coalesce(NEW.text_body, ''), coalesce(NEW.html_body, ''), coalesce(NEW.headers, ''),
    coalesce(NEW.from_name, ''), coalesce(NEW.reply_to, ''), coalesce(NEW.attachments, ''));
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER message_contents_delete INSTEAD OF DELETE ON message_contents BEGIN
  UPDATE shared_bodies SET refs = refs - 1 WHERE id = (SELECT shared_id FROM contents WHERE message_id = OLD.message_id);
  DELETE FROM shared_bodies WHERE id = (SELECT shared_id FROM contents WHERE message_id = OLD.message_id) AND refs <= 0;
  DELETE FROM contents WHERE message_id = OLD.message_id;
END;
-- +goose StatementEnd

-- +goose Down
DROP VIEW message_contents;
UPDATE contents SET
  text_body = (SELECT s.text_body FROM shared_bodies s WHERE s.id = contents.shared_id),
  html_body = (SELECT s.html_body FROM shared_bodies s WHERE s.id = contents.shared_id)
  WHERE shared_id IS NOT NULL;
ALTER TABLE contents DROP COLUMN shared_id;
ALTER TABLE contents RENAME TO message_contents;
DROP TABLE shared_bodies;
