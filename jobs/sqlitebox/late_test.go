package sqlitebox_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"testing"

	"github.com/postledger/postledger/jobs/sqlitebox"
)

// A driver answers that the context has ended, while its statement has run: when
// the end comes between the look at the context and the first step, SQLite forgets
// the interrupt. A BEGIN of which this is so must not stay in the pool, where it
// keeps the whole queue from being written for ever.
func TestABeginThatRanAfterItsContext(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"in a file":   filepath.Join(t.TempDir(), "jobs.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(100)",
		"in memory":   ":memory:",
		"not at once": filepath.Join(t.TempDir(), "later.db") + "?_pragma=busy_timeout(100)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late := &lateConnector{driver: open(t, path).Driver(), dsn: "file:" + path, runs: name != "not at once"}
			db := sql.OpenDB(late)
			t.Cleanup(func() { _ = db.Close() })
			if name == "in memory" {
				db.SetMaxOpenConns(1) // the connection is the database
			}
			migrate(t, db)
			box := sqlitebox.New(db)
			for range 3 {
				late.late = true
				if err := box.ReleaseLease(t.Context(), "l", "o"); !errors.Is(err, context.Canceled) {
					t.Fatalf("the call that is given up answers %v", err)
				}
				late.late = false
				if err := box.ReleaseLease(t.Context(), "l", "o"); err != nil {
					t.Fatalf("the next call fails: %v", err)
				}
			}
			if late.opened > 1 {
				t.Errorf("%d connections were opened: a database in memory would be gone", late.opened)
			}
		})
	}
}

// lateConnector opens connections whose BEGIN, while late is set, answers that its
// context has ended; runs tells whether it has run before.
type lateConnector struct {
	driver     driver.Driver
	dsn        string
	late, runs bool
	opened     int
}

func (l *lateConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := l.driver.Open(l.dsn)
	l.opened++
	return &lateConn{Conn: conn, connector: l}, err
}

func (l *lateConnector) Driver() driver.Driver { return l.driver }

type lateConn struct {
	driver.Conn
	connector *lateConnector
}

func (c *lateConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	begins := query == "BEGIN IMMEDIATE" && c.connector.late
	if begins && !c.connector.runs {
		return nil, context.Canceled
	}
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	if begins && err == nil {
		return nil, context.Canceled
	}
	return result, err
}

func (c *lateConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}
