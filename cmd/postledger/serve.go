package main

import (
	"os"
	"runtime/debug"
	"strings"

	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/app/killpoint"
)

type serveCmd struct {
	Migrate bool `help:"Bring PostgreSQL's schema to this binary's version first; SQLite's is brought there in any case."`
}

func (c *serveCmd) Run(e *env) error {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	point, err := killpoint.Parse(os.Getenv(killpoint.Variable))
	if err != nil {
		return &usageError{err}
	}
	o := app.Options{Version: version, Migrate: c.Migrate, Log: app.NewLog(cfg.Log, e.stderr)}
	if point != nil {
		o.Kill = point.At
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heapFor(cfg))
	}
	return app.New(*cfg, o).Run(e.ctx, nil)
}

// heapFor is how large the heap may grow before the collector works harder,
// instead of letting garbage double what is used: the memory for bodies, that for
// uploads into a bucket, and what the requests that are read and the rest of a
// server need beside it. SQLite's own memory is not in the heap: its caches, and
// each large value twice; with what the runtime has it was up to 104 MiB.
func heapFor(c *config.Config) int64 {
	const beside, sqlite = 64 << 20, 96 << 20
	n := int64(c.MemoryBudget) + beside
	if c.BlobsInS3() {
		n += int64(c.S3.UploadMemory)
	}
	if !strings.HasPrefix(c.Database.Reveal(), "postgres") {
		n -= sqlite
	}
	return n
}
