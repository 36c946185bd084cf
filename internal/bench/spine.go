package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/settle"
	"github.com/postledger/postledger/internal/transport"
)

const (
	spineLedger = "claim, load and settle: the ledger"
	spineBare   = "claim, load and settle: its SQL alone"
	// spineTemplate is copied for each run: all begin with the same rows.
	spineTemplate = "spine"
	spineMost     = 6_000
	// usualBatch is the mean of a bulk run's batches, where none was measured.
	usualBatch = 28
)

func (b *bench) prepareSpine() error {
	p, err := b.database(spineTemplate)
	if err != nil {
		return err
	}
	j := b.spineJob(p.url)
	if _, err := run("load", j); err != nil {
		return err
	}
	c, err := pgx.Connect(context.Background(), p.url)
	if err != nil {
		return err
	}
	_, err = c.Exec(context.Background(), "ANALYZE")
	return errors.Join(err, c.Close(context.Background()))
}

func (b *bench) spineJob(url string) job {
	j := b.bulkJob("spine")
	j.URL, j.World, j.N, j.Batch = url, b.own[spineTemplate].world, min(b.o.n, spineMost), usualBatch
	var batches []float64
	for _, m := range b.figures.runs[bulkPostgres] {
		batches = append(batches, m.Lease)
	}
	if m := middle(batches); m >= 1 {
		j.Batch = int(m + 0.5)
	}
	return j
}

// spine drains copies of one database: by the ledger, and by a program that
// sends PostgreSQL the same statements and arguments, as they were recorded
// while the ledger drained a third copy.
func (b *bench) spine(i int) error {
	var urls []string
	for _, name := range []string{"spine_ledger", "spine_bare", "spine_record"} {
		url, err := b.s.create(name, spineTemplate)
		if err != nil {
			return err
		}
		urls = append(urls, url)
	}
	alone, bare := b.spineJob(urls[0]), b.spineJob(urls[1])
	bare.Record = urls[2]
	return b.pair(i, step{spineLedger, "ledger-alone", "", alone}, step{spineBare, "ledger-bare", "", bare})
}

func (b *bench) judgeSpine() error {
	b.figures.atMost(fmt.Sprintf("CPU of the ledger by %d, of the same SQL", b.spineJob("").Batch), spineLedger, spineBare, cpuOf, 1.5)
	return nil
}

// ledgerAlone claims, loads and settles by the batch, one after the other.
func ledgerAlone(j *job) (result, error) {
	ctx := context.Background()
	l, err := ledger.Open(ctx, j.URL, ledger.Options{})
	if err != nil {
		return result{}, err
	}
	defer l.Close()
	w, err := spineWorker(ctx, l)
	if err != nil {
		return result{}, err
	}
	m, err := startMeter(j.URL)
	if err != nil {
		return result{}, err
	}
	rounds, err := drainLedger(ctx, l, w, j)
	if err != nil {
		return result{}, err
	}
	r, err := m.stop()
	r.Lease, r.Settle = float64(j.N)/float64(rounds), float64(j.N)/float64(rounds)
	return r, err
}

func spineWorker(ctx context.Context, l *ledger.Ledger) (postledger.ID, error) {
	w := ledger.Worker{ID: l.NewID(), Host: "bench", BootID: "bench", PID: os.Getpid(), Version: "bench"}
	return w.ID, l.StartWorker(ctx, w)
}

// drainLedger returns after how many rounds nothing was left.
func drainLedger(ctx context.Context, l *ledger.Ledger, worker postledger.ID, j *job) (rounds int, err error) {
	want := ledger.Want{Key: ledger.ClaimKey{Profile: j.World.Main.ID, Lane: postledger.LaneBulk, App: j.World.App}, N: j.Batch}
	counts := ledger.Counts{Beats: 1}
	for sent := 0; sent < j.N; rounds++ {
		claimed, err := l.Lease(ctx, worker, counts, []ledger.Want{want})
		if err != nil {
			return rounds, err
		}
		got := claimed[0]
		want.After, counts.Beats = got.After, got.Beats
		var ids []postledger.ID
		var ss []ledger.Settlement
		for _, d := range got.Leased {
			ids = append(ids, d.MessageID)
			ss = append(ss, settle.Decide(&settle.Tried{
				Members: []ledger.Leased{d}, Mover: postledger.MoverWorker,
				Outcomes: transport.Every(1, postledger.Outcome{Class: postledger.OutcomeAccepted, Code: 250, Text: "2.0.0 ok"}),
			}, rand.Float64, l.NewID)...)
		}
		if len(ids) == 0 {
			return rounds, fmt.Errorf("%d of %d were leased", sent, j.N)
		}
		if _, err := l.LoadToSend(ctx, ids, 256<<10); err != nil {
			return rounds, err
		}
		settled, settles, err := l.SettleBy(ctx, worker, counts, ss)
		if err != nil {
			return rounds, err
		}
		counts.Settles = settles
		for _, s := range settled {
			if !s.Applied {
				return rounds, errors.New("a settle was refused")
			}
		}
		sent += len(ids)
	}
	return rounds, nil
}

// ledgerBare records what the ledger says to PostgreSQL about one copy, and
// then says the same about another, without the ledger.
func ledgerBare(j *job) (r result, err error) {
	ctx := context.Background()
	rec := &recorder{}
	l, err := ledger.Open(ctx, j.Record, ledger.Options{Tracer: rec})
	if err != nil {
		return r, err
	}
	w, err := spineWorker(ctx, l)
	if err != nil {
		return r, errors.Join(err, l.Close())
	}
	first := len(rec.trips)
	rounds, err := drainLedger(ctx, l, w, j)
	if err = errors.Join(err, l.Close()); err != nil {
		return r, err
	}
	u, err := url.Parse(j.URL)
	if err != nil {
		return r, err
	}
	cfg := rec.config
	cfg.Tracer, cfg.Database = nil, u.Path[1:]
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return r, err
	}
	defer c.Close(ctx)
	var m *meter
	for i, t := range rec.trips {
		if i == first { // what made the worker's row is not measured
			if m, err = startMeter(j.URL); err != nil {
				return r, err
			}
		}
		if err := play(ctx, c, t); err != nil {
			return r, fmt.Errorf("play %.60q again: %w", t[0].sql, err)
		}
	}
	if r, err = m.stop(); err != nil {
		return r, err
	}
	r.Lease, r.Settle = float64(j.N)/float64(rounds), float64(j.N)/float64(rounds)
	var left int
	err = c.QueryRow(ctx, `SELECT count(*) FROM deliveries WHERE status <> 'sent'`).Scan(&left)
	if left > 0 {
		err = errors.Join(err, fmt.Errorf("%d deliveries were not settled by the same statements", left))
	}
	return r, err
}
