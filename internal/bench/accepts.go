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
	singleSQLite    = "accept over HTTP: SQLite, one client"
	batchesPostgres = "accept over HTTP in batches of 500: PostgreSQL"
	batchesSQLite   = "accept over HTTP in batches of 500: SQLite"
)

func (b *bench) accept(i int) error {
	j := job{N: b.o.accepts, Clients: acceptClients, Dir: serverDir(b.s.dir, i)}
	bare, pg, one, lite := j, j, j, j
	bare.URL, pg.URL, lite.URL = b.s.postgres, b.s.postgres, b.sqlite()
	one.URL = "sqlite://" + filepath.Join(b.s.dir, "bare.db")
	pg.World, lite.World = b.pg, b.lite
	single, pgBatches, liteBatches := lite, pg, lite
	single.Clients = 1
	// At several thousand a second, as long a run as the others'.
	pgBatches.N, pgBatches.Clients = 4*j.N, batchClients
	liteBatches.N, liteBatches.Clients = 2*j.N, batchClients
	return b.pair(
		i,
		step{commitsPostgres, "bare-postgres", "", bare},
		step{acceptPostgres, "accept", "", pg},
		step{httpPostgres, "http", "", pg},
		step{batchesPostgres, "http-batches", "", pgBatches},
		step{commitsSQLite, "bare-sqlite", "", one},
		step{acceptSQLite, "accept", "", lite},
		step{httpSQLite, "http", "", lite},
		step{singleSQLite, "http", "", single},
		step{batchesSQLite, "http-batches", "", liteBatches},
	)
}

func (b *bench) judgeAccept() error {
	f := b.figures
	f.atLeast("rate of accept over HTTP, of bare commits", httpPostgres, commitsPostgres, rateOf, 0.9)
	var slow, client []float64
	for _, m := range f.runs[httpPostgres] {
		slow, client = append(slow, m.Values[p99]), append(client, m.Values[clientCPU])
	}
	f.bar("p99 of accept over HTTP", "ms", slow, "≤ 40", func(v float64) bool { return v <= 40 })
	f.tell("CPU of the client, a request of accept over HTTP", middle(client), "µs")
	f.atLeast("messages over HTTP in batches of 500, of bare commits", batchesPostgres, commitsPostgres, rateOf, 3)
	f.atLeast("rate of accept over HTTP on SQLite, of bare commits", httpSQLite, commitsSQLite, rateOf, 1.0)
	f.atLeast("rate of accept over HTTP on SQLite, of one request a commit", httpSQLite, singleSQLite, rateOf, 3)
	f.atLeast("rate of accept by the ledger alone, of bare commits", acceptPostgres, commitsPostgres, rateOf, 0.9)
	return nil
}
