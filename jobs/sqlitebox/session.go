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
		<-d.turn
		return nil, errors.Join(err, conn.Close())
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
	_, err := s.ExecContext(context.Background(), "ROLLBACK")
	if err != nil {
		// A connection with an open transaction must not go back to the pool.
		_ = s.Raw(func(any) error { return driver.ErrBadConn })
	}
	return errors.Join(err, s.Close())
}
