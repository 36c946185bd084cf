package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// fair is how long ten deliveries take that come late, behind a backlog of
// another profile and of another app on their own. Another process accepts them:
// nobody wakes the worker.
func (b *bench) fair() error {
	p, err := b.database("fair")
	if err != nil {
		return err
	}
	j := b.bulkJob("fair")
	j.URL, j.World, j.N = p.url, p.world, b.o.behind
	if _, err := run("load", j); err != nil {
		return err
	}
	l, err := ledger.Open(context.Background(), p.url, ledger.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	before, err := b.s.sink.state()
	if err != nil {
		return err
	}
	server, err := startAttended(servePart, &j)
	if err != nil {
		return err
	}
	profile, app, err := b.late(l, p.world, before.Messages)
	if err != nil {
		return errors.Join(err, server.end())
	}
	if _, err := server.finish(); err != nil {
		return err
	}
	within := func(v float64) bool { return v <= 1 }
	b.figures.bar(fmt.Sprintf("ten of another profile behind %d", j.N), "s", profile, "≤ 1", within)
	b.figures.bar(fmt.Sprintf("ten of another app on the same profile behind %d", j.N), "s", app, "≤ 1", within)
	return nil
}

// late accepts ten of each kind, seven times, while the backlog is being sent.
func (b *bench) late(l *ledger.Ledger, w world, before int64) (profile, app []float64, err error) {
	if err := b.s.sink.await(before+int64(b.o.behind/20), time.Minute); err != nil {
		return nil, nil, err
	}
	ours, theirs := &job{World: w}, &job{World: w}
	theirs.World.App = w.Other
	for i := range 7 {
		ours.Run, theirs.Run = i, i
		p, err := b.ten(l, ours, &w.Late)
		if err != nil {
			return nil, nil, err
		}
		a, err := b.ten(l, theirs, &w.Main)
		if err != nil {
			return nil, nil, err
		}
		profile, app = append(profile, p), append(app, a)
	}
	st, err := b.s.sink.state()
	if err == nil && st.Messages-before >= int64(b.o.behind) {
		err = errors.New("the backlog was over before the last of those that came late")
	}
	return profile, app, err
}

// ten is how many seconds ten bulk deliveries take.
func (b *bench) ten(l *ledger.Ledger, j *job, p *postledger.Profile) (float64, error) {
	const n = 10
	var ms []ledger.NewMessage
	text, html := small(j.Run)
	for i := range n {
		m := message(l, j, p, i, postledger.LaneBulk, text, html)
		m.Key = "late-" + m.Key
		d := &m.Deliveries[0]
		d.Address = watchedPrefix + d.Address
		d.AddressFolded = d.Address
		ms = append(ms, m)
	}
	began := time.Now()
	if _, err := l.Accept(context.Background(), request(l, j, p, ms...)); err != nil {
		return 0, err
	}
	arrived, err := b.arrivals(n, time.Minute)
	if err != nil {
		return 0, err
	}
	last := began
	for _, at := range arrived {
		if at.After(last) {
			last = at
		}
	}
	return last.Sub(began).Seconds(), nil
}
