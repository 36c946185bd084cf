-- Lists go through what is scheduled or set aside in the order of these indexes, also
-- through a million rows of one moment. The table is locked first, or whoever has read
-- it and goes on to write would wait for this, and this for them.
LOCK TABLE job_outbox IN ACCESS EXCLUSIVE MODE;
DROP INDEX job_outbox_scheduled;
DROP INDEX job_outbox_aside;
CREATE INDEX job_outbox_scheduled ON job_outbox (run_at, place) WHERE state = 1;
CREATE INDEX job_outbox_aside ON job_outbox (changed_at, place) WHERE state = 3;
