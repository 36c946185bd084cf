package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// clients runs fn for 0..n−1 from several goroutines and returns the first error.
func clients(n, clients int, fn func(i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var first error
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := fn(i); err != nil {
					once.Do(func() { first = err })
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}

// warmed measures N calls of fn, after a tenth as many that open connections and
// prepare statements.
func warmed(j *job, meter string, fn func(i int) error) (result, error) {
	if err := clients(j.N/10, j.Clients, func(i int) error { return fn(j.N + i) }); err != nil {
		return result{}, err
	}
	m, err := startMeter(meter)
	if err != nil {
		return result{}, err
	}
	if err := clients(j.N, j.Clients, fn); err != nil {
		return result{}, err
	}
	return m.stop()
}

// acceptDirect accepts N requests of one message through the ledger: key,
// quota, audit and counters included.
func acceptDirect(j *job) (result, error) {
	ctx := context.Background()
	l, err := ledger.Open(ctx, j.URL, ledger.Options{})
	if err != nil {
		return result{}, err
	}
	defer l.Close()
	text, html := small(j.Run)
	return warmed(j, j.URL, func(i int) error {
		_, err := l.Accept(ctx, request(l, j, &j.World.Held, message(l, j, &j.World.Held, i, postledger.LaneImmediate, text, html)))
		return err
	})
}

// barePostgres commits N rows of the same size, one INSERT each.
func barePostgres(j *job) (result, error) {
	ctx := context.Background()
	cfg, err := pgxpool.ParseConfig(j.URL)
	if err != nil {
		return result{}, err
	}
	cfg.MaxConns = int32(j.Clients)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return result{}, err
	}
	defer pool.Close()
	text, html := small(j.Run)
	var ids postledger.IDSource
	return warmed(j, j.URL, func(int) error {
		_, err := pool.Exec(ctx, `INSERT INTO bare (id, body) VALUES ($1, $2)`, ids.Next(time.Now()), text+html)
		return err
	})
}

// bareSQLite commits N rows of the same size with synchronous=FULL. There is
// one writer, so they come one after another.
func bareSQLite(j *job) (result, error) {
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(j.URL, "sqlite://")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return result{}, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE IF NOT EXISTS bare (id BLOB PRIMARY KEY NOT NULL, body TEXT NOT NULL) WITHOUT ROWID`); err != nil {
		return result{}, err
	}
	insert, err := db.Prepare(`INSERT INTO bare (id, body) VALUES (?, ?)`)
	if err != nil {
		return result{}, err
	}
	m, err := startMeter("")
	if err != nil {
		return result{}, err
	}
	text, html := small(j.Run)
	var ids postledger.IDSource
	for i := range j.N {
		if _, err := insert.Exec(ids.Next(time.Now()), text+html); err != nil {
			return result{}, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return m.stop()
}
