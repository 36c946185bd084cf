package main

import (
	"fmt"
	"path/filepath"
)

// The measured parts, as they are called in the figures.
const (
	bulkFloor    = "bulk: floor on PostgreSQL"
	bulkPostgres = "bulk: PostgreSQL"
	bulkSQLite   = "bulk: SQLite"
	sharedFloor  = "one body for a batch: floor on PostgreSQL"
	sharedBulk   = "one body for a batch: PostgreSQL"
)

// bulkJob is a run of bulk mail; every run has keys, recipients and a journal of
// its own.
func (b *bench) bulkJob(name string) job {
	return job{Sink: b.s.sink.addr, N: b.o.n, Dir: filepath.Join(b.s.dir, "journal-"+name)}
}

func (b *bench) bulk(i int) error {
	j := b.bulkJob(fmt.Sprint("bulk-", i))
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

func (b *bench) judgeBulk() error {
	f := b.figures
	f.atMost("CPU of a bulk delivery, of the floor's", bulkPostgres, bulkFloor, cpuOf, 1.4)
	f.atLeast("rate of bulk, of the floor's", bulkPostgres, bulkFloor, rateOf, 0.75)
	f.atLeast("rate of bulk on SQLite, of PostgreSQL's", bulkSQLite, bulkPostgres, rateOf, 1.0)
	f.peak("memory of a process that delivers, PostgreSQL", bulkPostgres, 64)
	f.peak("memory of a process that delivers, SQLite", bulkSQLite, 120)
	return b.shares()
}

// shared is a batch whose messages have the same bodies. Postledger keeps and
// reads the content of each; the floor keeps it once a batch.
func (b *bench) shared(i int) error {
	p, err := b.database("shared")
	if err != nil {
		return err
	}
	if i == 0 {
		if _, err := run("floor-prepare", job{URL: p.url}); err != nil {
			return err
		}
	}
	j := b.bulkJob(fmt.Sprint("shared-", i))
	j.URL, j.World, j.Shared = p.url, p.world, true
	return b.pair(i, step{sharedFloor, "floor-bulk", "floor-load", j}, step{sharedBulk, "bulk", "load", j})
}

func (b *bench) judgeShared() error {
	b.figures.atMost("CPU of a bulk delivery with a shared body, of the floor's", sharedBulk, sharedFloor, cpuOf, 1.4)
	b.figures.atLeast("rate of bulk with a shared body, of the floor's", sharedBulk, sharedFloor, rateOf, 0.75)
	return nil
}
