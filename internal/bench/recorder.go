package main

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// call is a statement as it was sent, trip what was sent before an answer was
// waited for.
type (
	call struct {
		sql  string
		args []any
	}
	trip []call
)

// recorder keeps everything that PostgreSQL is sent, in order. What it hears
// must come from one goroutine at a time.
type recorder struct {
	mu     sync.Mutex
	trips  []trip
	config *pgx.ConnConfig // of the connections, the last one's
}

func (r *recorder) add(c *pgx.Conn, t trip) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trips = append(r.trips, t)
	r.config = c.Config()
}

// TraceQueryStart implements pgx.QueryTracer.
func (r *recorder) TraceQueryStart(ctx context.Context, c *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	r.add(c, trip{{d.SQL, d.Args}})
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (r *recorder) TraceBatchStart(ctx context.Context, c *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	var t trip
	for _, q := range d.Batch.QueuedQueries {
		t = append(t, call{q.SQL, q.Arguments})
	}
	r.add(c, t)
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (*recorder) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (*recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// play sends a trip and reads its answers, without a look at them.
func play(ctx context.Context, c *pgx.Conn, t trip) error {
	if len(t) == 1 {
		rows, err := c.Query(ctx, t[0].sql, t[0].args...)
		return drain(rows, err)
	}
	var b pgx.Batch
	for _, q := range t {
		b.Queue(q.sql, q.args...)
	}
	answers := c.SendBatch(ctx, &b)
	for range t {
		if err := drain(answers.Query()); err != nil {
			answers.Close()
			return err
		}
	}
	return answers.Close()
}

func drain(rows pgx.Rows, err error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		_ = rows.RawValues()
	}
	rows.Close()
	return rows.Err()
}
