package main

import (
	"fmt"
	"path/filepath"
	"time"
)

// memory lets a whole server deliver a large backlog, on each database.
func (b *bench) memory() error {
	for _, on := range []struct {
		name, url string
		mebibytes float64
	}{{"PostgreSQL", "", 64}, {"SQLite", "sqlite://" + filepath.Join(b.s.dir, "large.db"), 120}} {
		url := on.url
		if url == "" {
			var err error
			if url, err = b.s.create("large", "template0"); err != nil {
				return err
			}
		}
		name := fmt.Sprintf("a server with %d messages: %s", b.o.many, on.name)
		r, err := b.serveAll(url, b.bulkJob("large-"+on.name))
		if err != nil {
			return err
		}
		b.figures.add(name, b.o.many, r)
		b.figures.peak(fmt.Sprintf("memory of a server after %d messages, %s", b.o.many, on.name), name, on.mebibytes)
	}
	return nil
}

// serveAll fills a database and lets a server empty it.
func (b *bench) serveAll(url string, j job) (r result, err error) {
	j.URL, j.N = url, b.o.many
	p, err := run("prepare", j)
	if err != nil {
		return r, err
	}
	j.World = p.World
	if _, err := run("load", j); err != nil {
		return r, err
	}
	before, err := b.s.sink.state()
	if err != nil {
		return r, err
	}
	server, err := startAttended(servePart, &j)
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := b.s.sink.await(before.Messages+int64(j.N), 10*time.Minute); err != nil {
		return r, fmt.Errorf("%w; %w", err, server.end())
	}
	took := time.Since(began)
	r, err = server.finish()
	r.Seconds = took.Seconds()
	return r, err
}
