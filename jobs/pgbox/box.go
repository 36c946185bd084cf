// Package pgbox keeps an outbox of jobs in PostgreSQL 15 or newer, through
// database/sql and pgx's driver for it (github.com/jackc/pgx/v5/stdlib): it binds
// arrays as pgx does. The tables are job_outbox, job_leases, job_schedules and
// job_schema, in the first schema of the search path.
//
// The connections should have enable_seqscan and enable_bitmapscan off (both can stand in
// the URL). Every statement has an index, and rows that are looked up by a list of ids are
// locked in the order of ids then. In the order in which a bitmap or the whole table
// shows them two processes that change the same rows may wait for each other, until the
// server breaks one off a second later; it is run again.
package pgbox

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/internal/sqlbox"
)

//go:embed schema/*.sql
var schema embed.FS

// Box is a jobs.Outbox.
type Box struct{ *sqlbox.Box }

var _ jobs.Outbox = Box{}

// New makes an outbox of a database that Migrate has prepared.
func New(db *sql.DB) Box { return Box{sqlbox.New(db, dialect{})} }

// migrationLock keeps two processes from migrating at once; it ends with its
// transaction. The number is the name's, in ASCII: "jobsbox".
const migrationLock = "SELECT pg_advisory_xact_lock(30025880461160312)"

// Migrate creates the tables or brings them to this version. It may be called at
// every start, by any number of processes.
func Migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(schema, "schema")
	if err != nil {
		return fmt.Errorf("read the job schema: %w", err)
	}
	return New(db).Migrate(ctx, files, migrationLock)
}

// Tx makes a pgx transaction usable for EnqueueTx. A database/sql transaction is
// wrapped by jobs.SQLTx.
func Tx(tx pgx.Tx) jobs.Tx { return pgxTx{tx} }

type pgxTx struct{ tx pgx.Tx }

func (t pgxTx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := t.tx.Exec(ctx, query, args...)
	return err
}
