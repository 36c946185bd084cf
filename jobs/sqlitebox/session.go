package sqlitebox

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/postledger/postledger/jobs/internal/sqlbox"
)

// Begin takes the database's write lock at once: a transaction that reads first
// and wants to write later is refused when another has written in between.
func (d dialect) Begin(ctx context.Context, db *sql.DB) (sqlbox.Session, error) {
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the writer's turn: %w", ctx.Err())
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		<-d.turn
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		// Its context may have ended and the transaction have begun all the same:
		// the driver answers with the former.
		_, closing := end(conn)
		<-d.turn
		return nil, errors.Join(err, closing)
	}
	return &session{Conn: conn, done: func() { <-d.turn }}, nil
}

type session struct {
	*sql.Conn
	done func()
}

// Commit does not end with the call's context: the transaction's fate would be
// open for nothing.
func (s *session) Commit() error {
	_, err := s.ExecContext(context.Background(), "COMMIT")
	if err != nil {
		return errors.Join(err, s.Rollback())
	}
	defer s.done()
	return s.Close()
}

func (s *session) Rollback() error {
	defer s.done()
	return errors.Join(end(s.Conn))
}

// end gives a connection back to the pool, in no transaction, or closes it, which
// ends its transaction as well. One that came back inside a transaction would
// keep every other writer out for ever, and could begin no transaction itself.
func end(conn *sql.Conn) (refused, closing error) {
	ctx := context.Background()
	if _, refused = conn.ExecContext(ctx, "ROLLBACK"); refused != nil && !idle(ctx, conn) {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		return refused, nil
	}
	return refused, conn.Close()
}

// idle tells whether a connection is in no transaction: one of its own can begin
// then, and this kind needs no lock. SQLite often ends a transaction by itself,
// and refuses the ROLLBACK. Such a connection is kept, since a database in memory
// goes with it.
func idle(ctx context.Context, conn *sql.Conn) bool {
	for _, statement := range []string{"BEGIN DEFERRED", "ROLLBACK"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return false
		}
	}
	return true
}
