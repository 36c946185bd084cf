package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/postledger/postledger"
)

// Statement is one statement as the ledger sent it.
type Statement struct {
	SQL  string
	Args []any
}

// Trace notes what a ledger sends to its database, so that tests explain the
// real statements and no copy of them.
type Trace struct {
	l    *Ledger
	mu   sync.Mutex
	on   bool
	sent []Statement
}

// NewTrace makes a ledger that is idle send through tr from now on.
func NewTrace(l *Ledger, url string) (*Trace, error) {
	tr := &Trace{l: l}
	if l.dialect == postgres {
		cfg, err := postgresConfig(url)
		if err != nil {
			return nil, err
		}
		cfg.Tracer = pgxTracer{tr}
		l.db.Close()
		if l.groups != l.db {
			l.groups.Close()
		}
		l.db = stdlib.OpenDB(*cfg)
		l.groups = l.db
		return tr, nil
	}
	drv := l.db.Driver()
	l.db.Close()
	l.db = sql.OpenDB(tracedConnector{tr, drv, l.writeDSN})
	return tr, nil
}

// Of returns what fn's calls of the ledger sent. SQLite's writer prepares
// each text once: its cache, empty before, then holds what it ran.
func (tr *Trace) Of(fn func()) []Statement {
	if w := tr.l.writer; w != nil {
		w.stmts.mu.Lock()
		for q, st := range w.stmts.m {
			st.Close()
			delete(w.stmts.m, q)
		}
		w.stmts.mu.Unlock()
	}
	tr.mu.Lock()
	tr.on, tr.sent = true, nil
	tr.mu.Unlock()
	fn()
	tr.mu.Lock()
	tr.on = false
	out := tr.sent
	tr.mu.Unlock()
	if w := tr.l.writer; w != nil {
		w.stmts.mu.Lock()
		for q := range w.stmts.m {
			out = append(out, Statement{SQL: q})
		}
		w.stmts.mu.Unlock()
	}
	return out
}

func (tr *Trace) add(s Statement) {
	tr.mu.Lock()
	if tr.on {
		tr.sent = append(tr.sent, s)
	}
	tr.mu.Unlock()
}

type pgxTracer struct{ tr *Trace }

func (t pgxTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	t.tr.add(Statement{d.SQL, withoutOptions(d.Args)})
	return ctx
}

// withoutOptions leaves out the formats that database/sql's adapter puts in front.
func withoutOptions(args []any) []any {
	for len(args) > 0 {
		if _, option := args[0].(pgx.QueryResultFormatsByOID); !option {
			break
		}
		args = args[1:]
	}
	return args
}

func (t pgxTracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		t.tr.add(Statement{q.SQL, withoutOptions(q.Arguments)})
	}
	return ctx
}

func (pgxTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (pgxTracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (pgxTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// tracedConnector opens SQLite connections that note what they are asked.
type tracedConnector struct {
	tr  *Trace
	drv driver.Driver
	dsn string
}

func (c tracedConnector) Driver() driver.Driver { return c.drv }

func (c tracedConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.drv.Open(c.dsn)
	return tracedConn{conn, c.tr}, err
}

// tracedConn hides the driver's shortcuts: every statement is prepared.
type tracedConn struct {
	driver.Conn
	tr *Trace
}

func (c tracedConn) Prepare(query string) (driver.Stmt, error) {
	c.tr.add(Statement{SQL: query})
	return c.Conn.Prepare(query)
}

// BacklogsAt and CountWaitingAt look at a moment of the process.
func (l *Ledger) BacklogsAt(ctx context.Context, at time.Time) (map[postledger.ID]Backlog, error) {
	return l.backlogs(ctx, at)
}

func (l *Ledger) CountWaitingAt(ctx context.Context, profile postledger.ID, upTo int64, at time.Time) (int64, error) {
	return l.countWaiting(ctx, profile, upTo, at)
}

// ConnectPostgres opens a connection as the ledger makes them.
func ConnectPostgres(ctx context.Context, url string) (*pgx.Conn, error) {
	cfg, err := postgresConfig(url)
	if err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, cfg)
}
