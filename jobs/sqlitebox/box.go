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

// Querier is a transaction, as *sql.Conn and *sql.Tx are.
type Querier = sqlbox.Querier

// Writing is an application's way to write to its database: it runs body in one
// transaction, alone or with others under a savepoint, and returns nil when that
// is committed. What body returns undoes what it did. Statements run with the
// context that body is given: one that is interrupted may take the whole
// transaction with it.
type Writing func(ctx context.Context, body func(ctx context.Context, q Querier) error) error

// NewWith makes an outbox that reads from readers and writes by the application's
// own way: SQLite has one writer at a time, and an application that keeps one
// would else wait for locks against its own outbox.
func NewWith(readers *sql.DB, write Writing) Box {
	return Box{sqlbox.NewWith(readers, newDialect(), sqlbox.Writing(write))}
}

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
