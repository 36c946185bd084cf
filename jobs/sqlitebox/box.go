// Package sqlitebox keeps an outbox of jobs in SQLite 3.35 or newer, through
// database/sql and any driver for it. The tables are job_outbox, job_leases,
// job_schedules and job_schema.
//
// Open the database with a busy timeout and in WAL mode, and with synchronous set
// to FULL if what was accepted must outlive the loss of power.
package sqlitebox

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/internal/sqlbox"
)

//go:embed schema/*.sql
var schema embed.FS

// Box is a jobs.Outbox.
type Box struct{ *sqlbox.Box }

var _ jobs.Outbox = Box{}

// New makes an outbox of a database that Migrate has prepared.
func New(db *sql.DB) Box { return Box{sqlbox.New(db, newDialect())} }

// Migrate creates the tables or brings them to this version. It may be called at
// every start, by any number of processes: each version is applied under the
// database's write lock.
func Migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(schema, "schema")
	if err != nil {
		return fmt.Errorf("read the job schema: %w", err)
	}
	return New(db).Migrate(ctx, files, "")
}
