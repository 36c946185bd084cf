package main

import (
	"fmt"
	"path/filepath"
)

// acceptClients ask at once; the bare commits have as many connections.
const acceptClients = 32

// bench is one run of the program.
type bench struct {
	s       *servers
	o       options
	figures *figures
	// pg and lite are the worlds of the two ledgers.
	pg, lite world
}

func measure(s *servers, o options) (*figures, error) {
	b := &bench{s: s, o: o, figures: newFigures(o.pairs)}
	p, err := run("prepare", job{URL: s.postgres, Sink: s.sink, N: o.accepts})
	if err != nil {
		return nil, err
	}
	b.pg = p.World
	if p, err = run("prepare", job{URL: b.sqlite(), Sink: s.sink, N: o.accepts}); err != nil {
		return nil, err
	}
	b.lite = p.World
	if _, err := run("floor-prepare", job{URL: s.postgres}); err != nil {
		return nil, err
	}
	for i := range o.pairs {
		if o.only != "accept" {
			if err := b.bulk(i); err != nil {
				return nil, err
			}
		}
		if o.only != "bulk" {
			if err := b.accept(i); err != nil {
				return nil, err
			}
		}
	}
	b.judge()
	return b.figures, nil
}

func (b *bench) sqlite() string { return "sqlite://" + filepath.Join(b.s.dir, "ledger.db") }

// step is one measured part of a pair.
type step struct {
	name, part string
	load       string // the part that fills its tables first, not measured
	job        job
}

// pair runs steps one after the other, in turn from either end: what drifts
// then favours none.
func (b *bench) pair(i int, steps ...step) error {
	for k := range steps {
		s := steps[k]
		if i%2 == 1 {
			s = steps[len(steps)-1-k]
		}
		s.job.Run = i
		if s.load != "" {
			r, err := run(s.load, s.job)
			if err != nil {
				return err
			}
			if s.load == "load" {
				b.figures.add(s.name+", accepted in batches", s.job.N, r)
			}
		}
		if b.o.profiles != "" && i == b.o.pairs-1 {
			s.job.Profile = filepath.Join(b.o.profiles, s.part+"-"+map[bool]string{true: "postgres", false: "sqlite"}[isPostgres(s.job.URL)]+".pprof")
		}
		r, err := run(s.part, s.job)
		if err != nil {
			return err
		}
		b.figures.add(s.name, s.job.N, r)
	}
	return nil
}

// The measured parts, as they are called in the figures.
const (
	bulkFloor    = "bulk: floor on PostgreSQL"
	bulkPostgres = "bulk: PostgreSQL"
	bulkSQLite   = "bulk: SQLite"

	commitsPostgres = "accept: bare commits on PostgreSQL"
	acceptPostgres  = "accept: PostgreSQL"
	commitsSQLite   = "accept: bare commits on SQLite"
	acceptSQLite    = "accept: SQLite"
	httpPostgres    = "accept over HTTP: PostgreSQL"
	httpSQLite      = "accept over HTTP: SQLite"
)

func (b *bench) bulk(i int) error {
	j := job{Sink: b.s.sink, N: b.o.n, Dir: filepath.Join(b.s.dir, fmt.Sprint("journal-", i))}
	floor, pg, lite := j, j, j
	floor.URL, pg.URL, lite.URL = b.s.postgres, b.s.postgres, b.sqlite()
	pg.World, lite.World = b.pg, b.lite
	return b.pair(
		i,
		step{bulkFloor, "floor-bulk", "floor-load", floor},
		step{bulkPostgres, "bulk", "load", pg},
		step{bulkSQLite, "bulk", "load", lite},
	)
}

func (b *bench) accept(i int) error {
	j := job{N: b.o.accepts, Clients: acceptClients, Dir: serverDir(b.s.dir, i)}
	bare, pg, one, lite := j, j, j, j
	bare.URL, pg.URL, lite.URL = b.s.postgres, b.s.postgres, b.sqlite()
	one.URL = "sqlite://" + filepath.Join(b.s.dir, "bare.db")
	pg.World, lite.World = b.pg, b.lite
	return b.pair(
		i,
		step{commitsPostgres, "bare-postgres", "", bare},
		step{acceptPostgres, "accept", "", pg},
		step{httpPostgres, "http", "", pg},
		step{commitsSQLite, "bare-sqlite", "", one},
		step{acceptSQLite, "accept", "", lite},
		step{httpSQLite, "http", "", lite},
	)
}

// judge compares the pairs with the bars.
func (b *bench) judge() {
	f := b.figures
	if b.o.only != "accept" {
		f.atMost("CPU of a bulk delivery, of the floor's", bulkPostgres, bulkFloor, cpuOf, 1.4)
		f.atLeast("rate of bulk, of the floor's", bulkPostgres, bulkFloor, rateOf, 0.75)
		f.atLeast("rate of bulk on SQLite, of PostgreSQL's", bulkSQLite, bulkPostgres, rateOf, 1.0)
		f.peak("memory of a process that delivers, PostgreSQL", bulkPostgres, 64)
		f.peak("memory of a process that delivers, SQLite", bulkSQLite, 120)
	}
	if b.o.only != "bulk" {
		f.atLeast("rate of accept over HTTP, of bare commits", httpPostgres, commitsPostgres, rateOf, 0.9)
		f.atLeast("rate of accept over HTTP on SQLite, of bare commits", httpSQLite, commitsSQLite, rateOf, 1.0)
		f.atLeast("rate of accept by the ledger alone, of bare commits", acceptPostgres, commitsPostgres, rateOf, 0.9)
	}
}
