-- What a worker's settles have counted, apart from what its leases and heartbeats
-- count in workers: in one row each would wait for the other's COMMIT. A worker
-- of an older binary has no row here, and counts both there.

-- +goose Up
CREATE TABLE worker_settles (
  worker_id uuid PRIMARY KEY,
  settles   bigint NOT NULL
);

-- +goose Down
DROP TABLE worker_settles;
