-- PostgreSQL's types for the rows of an accept; SQLite inserts row by row. The
-- two ledgers count their versions alike.

-- +goose Up
SELECT 1;

-- +goose Down
SELECT 1;
