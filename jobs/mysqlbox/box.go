// Package mysqlbox keeps an outbox of jobs in MySQL 8 or MariaDB 10.6 or newer,
// through database/sql and github.com/go-sql-driver/mysql. The tables are
// job_outbox, job_leases, job_schedules and job_schema, in InnoDB.
//
// The data source name may have any parameters. What was accepted outlives a
// crash of the server's machine when innodb_flush_log_at_trx_commit is 1, which
// is the default.
package mysqlbox

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
func New(db *sql.DB) Box { return Box{sqlbox.New(db, dialect{})} }

// Migrate creates the tables or brings them to this version. It may be called at
// every start, by any number of processes.
func Migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(schema, "schema")
	if err != nil {
		return fmt.Errorf("read the job schema: %w", err)
	}
	return New(db).Migrate(ctx, files, "")
}
