-- PostgreSQL's indexes for lists of jobs: here every index ends with the row's place.
-- The two ledgers count their versions alike.

-- +goose Up
SELECT 1;

-- +goose Down
SELECT 1;
