package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger/internal/bench/cost"
	"github.com/postledger/postledger/jobs"
)

// bareRowsPart commits the rows that spilling commits, as many at a time, by one
// statement and nothing else.
func bareRowsPart(j *job) (r result, err error) {
	w, err := openRows(j, alwaysFull())
	if err != nil {
		return r, err
	}
	defer w.close()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, j.URL)
	if err != nil {
		return r, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx)
	if err := insertBare(ctx, conn, j.N/10); err != nil {
		return r, err
	}
	if err := w.settled(); err != nil {
		return r, err
	}
	return used(cost.Postgres(w.meter), func() error { return insertBare(ctx, conn, j.N) })
}

func insertBare(ctx context.Context, conn *pgx.Conn, n int) error {
	var source jobs.IDSource
	payload := make([]byte, cost.Payload)
	ids, payloads, times := make([][16]byte, cost.Many), make([][]byte, cost.Many), make([]int64, cost.Many)
	for left := n; left > 0; left -= cost.Many {
		some := min(left, cost.Many)
		now := time.Now()
		for i := range some {
			ids[i], payloads[i], times[i] = source.Next(now), payload, now.UnixMicro()
		}
		_, err := conn.Exec(ctx, `INSERT INTO job_outbox (id, rev, state, lane, grp, handler, kind, bypass, durable,
				payload, run_at, max_attempts, timeout_us, attempts, enqueued_at, refused, reason, epoch, changed_at)
			SELECT id, 1, 0, 0, '', 'noop', 0, 0, 0, payload, 0, 25, 0, 0, at, 0, '', '', at
			FROM unnest($1::uuid[], $2::bytea[], $3::bigint[]) AS u (id, payload, at)`,
			ids[:some], payloads[:some], times[:some])
		if err != nil {
			return fmt.Errorf("insert: %w", err)
		}
	}
	return nil
}
