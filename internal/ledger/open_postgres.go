package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

func (l *Ledger) openPostgres(ctx context.Context, url string, connections int, tracer pgx.QueryTracer) error {
	cfg, err := postgresConfig(url)
	if err != nil {
		return err
	}
	cfg.Tracer = tracer
	timeouts(cfg, l.timeout)
	// The pools share it, and with it the rest after a failure.
	conns := &connector{
		Connector: stdlib.GetConnector(*cfg, stdlib.OptionShouldPing(never), stdlib.OptionResetSession(alive(l.timeout/5))),
		now:       time.Now,
	}
	pool := func(from driver.Connector) func(int) *sql.DB {
		return func(connections int) *sql.DB {
			db := sql.OpenDB(from)
			db.SetMaxOpenConns(connections)
			db.SetMaxIdleConns(connections)
			db.SetConnMaxLifetime(time.Hour)
			return db
		}
	}
	l.connect, l.beside = pool(conns), pool(inOrder{conns})
	// One of the connections is the heartbeat's alone: whatever takes all the
	// others, and for how long, this worker does not fall silent by it, which
	// would end its sending and after a minute have others recover its leases.
	l.beats, connections = l.connect(1), max(1, connections-1)
	// And one is the accepts', which one goroutine writes: its backend has their
	// statements, their tables' pages and its memory at hand. On whichever is
	// free each would gather that anew.
	if connections >= 3 {
		l.groups, connections = l.connect(1), connections-1
	}
	l.db = l.connect(connections)
	if l.groups == nil {
		l.groups = l.db
	}
	l.snapshots = make(chan struct{}, max(1, connections/2))
	l.dialect = postgres
	if err := l.db.PingContext(ctx); err != nil {
		errs := []error{fmt.Errorf("connect: %w", redactURL(err)), l.db.Close()}
		for _, own := range l.alone() {
			errs = append(errs, own.Close())
		}
		return errors.Join(errs...)
	}
	return nil
}

// postgresConfig is how each connection is made.
func postgresConfig(url string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("parse database URL: %w", redactURL(err))
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 10 * time.Second
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "postledger"
	}
	// What we promised must be on the disk, whatever the server's default.
	cfg.RuntimeParams["synchronous_commit"] = "on"
	cfg.RuntimeParams["timezone"] = "UTC"
	// Guards are written for it: an UPDATE that waited for a row's lock looks at the row as
	// it is then. Under a stricter level, which a role may have, it fails instead (40001).
	cfg.RuntimeParams["default_transaction_isolation"] = "read committed"
	// Every statement of the ledger has an index to go by. A prepared statement
	// keeps the plan that was made when its tables were nearly empty, and what
	// is right for ten pages reads all of a million rows a minute later; so
	// reading a table from end to end is never a choice. JIT compiles for
	// plans that run for seconds, and by their estimates only.
	cfg.RuntimeParams["enable_seqscan"] = "off"
	cfg.RuntimeParams["jit"] = "off"
	// A statement is planned once on each connection. By default it is planned
	// for its arguments the first five times, and ever after if that seems
	// cheaper, as it does for short arrays; no plan of ours depends on them, and
	// planning costs several times what most of the statements do.
	cfg.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	return cfg, nil
}

// timeouts bound what a connection that nobody answers on costs, on both sides.
// A network that forgets a connection tells neither: the server would hold the
// rows that a transaction of ours had locked for as long as it believes in it,
// which is two hours by default. What the URL says itself stays.
func timeouts(cfg *pgx.ConnConfig, timeout time.Duration) {
	for name, value := range map[string]string{
		// None of ours waits between two statements of a transaction.
		"idle_in_transaction_session_timeout": fmt.Sprint((2 * timeout).Milliseconds()),
		// For one that is gone in the middle of a statement.
		"tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3",
	} {
		if cfg.RuntimeParams[name] == "" {
			cfg.RuntimeParams[name] = value
		}
	}
	// A standby, or a database that became read-only, takes connections and no
	// mail: with more than one host in the URL the next is tried, and what was
	// connected meanwhile does not stay read-only when the database no longer is.
	if cfg.ValidateConnect == nil && !strings.Contains(cfg.ConnString(), "target_session_attrs") {
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
}

func never(context.Context, stdlib.ShouldPingParams) bool { return false }

// usedKey is where a connection keeps when it was last taken from the pool.
const usedKey = "postledger.used"

// alive asks a connection that was idle for a second whether it still is one,
// before anything is asked on it. One that does not answer in time is given up
// for a new one: a pool full of those that a firewall has forgotten would else
// cost each caller its whole patience.
func alive(patience time.Duration) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, c *pgx.Conn) error {
		kept, now := c.PgConn().CustomData(), time.Now()
		used, _ := kept[usedKey].(time.Time)
		kept[usedKey] = now
		if now.Sub(used) < time.Second {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if c.Ping(ctx) != nil {
			return driver.ErrBadConn
		}
		return nil
	}
}

// redactURL keeps a connection string's password out of errors.
func redactURL(err error) error {
	var pe *pgconn.ParseConfigError
	if errors.As(err, &pe) {
		return errors.New("the URL is not valid (see the PostgreSQL manual, 34.1.1.2 Connection URIs)")
	}
	return err
}

// inPostgresTx runs fn in one transaction of a pool. Serialization failures and
// deadlocks repeat it, at most five times: the server has undone all of it.
func (l *Ledger) inPostgresTx(ctx context.Context, pool *sql.DB, fn func(context.Context, *tx) error) error {
	ctx, cancel := inTime(ctx, l.patience())
	defer cancel()
	var err error
	for range 5 {
		if err = oncePostgresTx(ctx, pool, l.now, fn); !retryable(err) {
			return err
		}
	}
	return err
}

func oncePostgresTx(ctx context.Context, pool *sql.DB, now func() time.Time, fn func(context.Context, *tx) error) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer conn.Close()
	p := &postgresTx{conn: conn}
	whole := false
	defer func() {
		if !whole {
			_ = p.rollback() // fn panics
		}
	}()
	t := &tx{dialect: postgres, q: p, pg: p, clock: now}
	err = fn(ctx, t)
	whole = true
	if err == nil {
		err = p.commit(ctx, t)
	} else {
		err = errors.Join(err, p.rollback())
	}
	if readOnly(err) {
		p.giveUp()
	}
	return err
}

// retryable: 40001 serialization_failure, 40P01 deadlock_detected.
func retryable(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && (pe.Code == "40001" || pe.Code == "40P01")
}
