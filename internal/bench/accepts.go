package main

import "path/filepath"

// acceptClients ask at once; the bare commits have as many connections.
const acceptClients = 32

// The measured parts, as they are called in the figures.
const (
	commitsPostgres = "accept: bare commits on PostgreSQL"
	acceptPostgres  = "accept: PostgreSQL"
	commitsSQLite   = "accept: bare commits on SQLite"
	acceptSQLite    = "accept: SQLite"
	httpPostgres    = "accept over HTTP: PostgreSQL"
	httpSQLite      = "accept over HTTP: SQLite"
)

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

func (b *bench) judgeAccept() error {
	f := b.figures
	f.atLeast("rate of accept over HTTP, of bare commits", httpPostgres, commitsPostgres, rateOf, 0.9)
	f.atLeast("rate of accept over HTTP on SQLite, of bare commits", httpSQLite, commitsSQLite, rateOf, 1.0)
	f.atLeast("rate of accept by the ledger alone, of bare commits", acceptPostgres, commitsPostgres, rateOf, 0.9)
	return nil
}
