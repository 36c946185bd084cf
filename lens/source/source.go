package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

// Source is an application's database, opened to be read. It is safe for
// concurrent use.
type Source struct {
	dialect catalogue.Dialect
	db      *sql.DB
	options Options
	// mariaDB tells the two servers of the dialect MySQL apart.
	mariaDB bool
}

// ErrTooManyRows is returned when a statement gives more rows than
// [Options.Rows].
var ErrTooManyRows = errors.New("the statement gives more rows than the source allows")

// ErrValue is returned when a statement fails on a value, of a row or bound: one that
// does not fit a type, a division by zero. It tells the database's code for that, and
// never the value.
var ErrValue = errors.New("the database can make nothing of a value")

// Open opens the database of a DSN and asks it one question, so that a wrong
// password or an unfit database (its text must be UTF-8) is an error here.
func Open(ctx context.Context, dsn string, options Options) (*Source, error) {
	options = options.withDefaults()
	dialect, err := DialectOf(dsn)
	if err != nil {
		return nil, err
	}
	s := &Source{dialect: dialect, options: options}
	switch dialect {
	case catalogue.PostgreSQL:
		s.db, err = openPostgres(dsn, options)
	case catalogue.MySQL:
		s.db, err = openMySQL(dsn, options)
	case catalogue.SQLite:
		s.db, err = openSQLite(dsn, options)
	}
	if err != nil {
		return nil, err
	}
	s.db.SetMaxOpenConns(options.Connections)
	s.db.SetMaxIdleConns(options.Connections)
	s.db.SetConnMaxIdleTime(5 * time.Minute)
	if err := s.probe(ctx); err != nil {
		_ = s.db.Close()
		return nil, fmt.Errorf("open the source: %w", err)
	}
	return s, nil
}

// Close closes the pool.
func (s *Source) Close() error { return s.db.Close() }

// Dialect is the SQL the source speaks.
func (s *Source) Dialect() catalogue.Dialect { return s.dialect }

// Options are the bounds in force.
func (s *Source) Options() Options { return s.options }

// probe refuses databases in which text would not compare byte by byte as UTF-8.
func (s *Source) probe(ctx context.Context) error {
	question := map[catalogue.Dialect]string{
		catalogue.PostgreSQL: "SELECT current_setting('server_encoding')",
		catalogue.MySQL:      "SELECT version()",
		catalogue.SQLite:     "SELECT encoding FROM pragma_encoding",
	}[s.dialect]
	var answer string
	err := s.Read(ctx, question, nil, func(scan func(...any) error) error { return scan(&answer) })
	if err != nil {
		return err
	}
	switch s.dialect {
	case catalogue.MySQL:
		s.mariaDB = isMariaDB(answer)
	default:
		if answer != "UTF8" && answer != "UTF-8" {
			return fmt.Errorf("the database's encoding is %s, it must be UTF-8", answer)
		}
	}
	return nil
}

// Read runs one query in a read-only transaction and calls each with every row.
// It ends within the statement timeout, whatever the database does, and fails
// with [ErrTooManyRows] when there are more rows than allowed. The SQL must come
// from this library's compiler, never from people.
func (s *Source) Read(ctx context.Context, query string, args []any, each Each) error {
	return s.read(ctx, s.options.Rows, query, args, each)
}

// Each is called with every row of a result.
type Each func(scan func(...any) error) error

func (s *Source) read(ctx context.Context, most int, query string, args []any, each Each) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	return s.transact(ctx, query, args, func(rows *sql.Rows) error {
		for n := 0; rows.Next(); n++ {
			if n == most {
				return fmt.Errorf("%w (%d)", ErrTooManyRows, most)
			}
			if err := each(rows.Scan); err != nil {
				return err
			}
		}
		return nil
	})
}

// transact gives a query's rows to each, in a read-only transaction.
func (s *Source) transact(ctx context.Context, query string, args []any, each func(*sql.Rows) error) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: s.dialect != catalogue.SQLite})
	if err != nil {
		return fmt.Errorf("begin to read: %w", ended(ctx, err))
	}
	// Nothing is ever written: the rollback only ends the transaction.
	defer func() { _ = tx.Rollback() }()
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("query: %w", ended(ctx, err))
	}
	defer func() { _ = rows.Close() }()
	if err := each(rows); err != nil {
		return err
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read rows: %w", ended(ctx, err))
	}
	return nil
}

// ended names the deadline as the cause of whatever the driver made of it, and lets no
// value out.
func ended(ctx context.Context, err error) error {
	err = quiet(err)
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}
