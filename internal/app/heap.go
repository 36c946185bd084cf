package app

import (
	"runtime/debug"
	"strings"

	"github.com/postledger/postledger/internal/app/config"
)

// TuneHeap tells the collector how a server of this configuration uses memory,
// unless its environment does. It is the process's, so a program calls it that is
// nothing but a server.
//
// A server's heap is small, and what requests leave behind soon doubles it: to
// collect it then, the runtime's default, was a tenth of all work. Where much is
// in use the limit counts.
func TuneHeap(c *config.Config, getenv func(string) string) {
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heapFor(c))
	}
	if getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}

// heapGrowth collects when the heap is four times what was in use: some 25 MiB
// more of an idle server's 8.
const heapGrowth = 300

// heapFor is how large the heap may grow before the collector works harder,
// instead of letting garbage multiply what is used: the memory for bodies, that for
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
