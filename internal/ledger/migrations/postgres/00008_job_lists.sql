-- The second version of the job queue's tables (package jobs), as the queue itself
-- defines it: a test compares. An earlier binary uses these indexes as it did the old.

-- +goose Up
-- The table is asked for a second at a time: whoever asks behind this one waits for
-- whoever holds it, and settling must not wait for a report.
-- +goose StatementBegin
DO $$
DECLARE tries integer := 0;
BEGIN
  SET LOCAL lock_timeout = '1s';
  LOOP
    BEGIN
      LOCK TABLE job_outbox IN ACCESS EXCLUSIVE MODE;
      EXIT;
    EXCEPTION WHEN lock_not_available THEN
      tries := tries + 1;
      IF tries = 30 THEN RAISE; END IF;
      PERFORM pg_sleep(1);
    END;
  END LOOP;
END $$;
-- +goose StatementEnd
-- Lists go through what is scheduled or set aside in the order of these indexes, also
-- through a million rows of one moment.
DROP INDEX job_outbox_scheduled;
DROP INDEX job_outbox_aside;
CREATE INDEX job_outbox_scheduled ON job_outbox (run_at, place) WHERE state = 1;
CREATE INDEX job_outbox_aside ON job_outbox (changed_at, place) WHERE state = 3;
INSERT INTO job_schema (version) VALUES (2);

-- +goose Down
DELETE FROM job_schema WHERE version = 2;
DROP INDEX job_outbox_scheduled;
DROP INDEX job_outbox_aside;
CREATE INDEX job_outbox_scheduled ON job_outbox (run_at) WHERE state = 1;
CREATE INDEX job_outbox_aside ON job_outbox (changed_at) WHERE state = 3;
