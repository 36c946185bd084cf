package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteTx is the one transaction of the writer's connection, as SQLite itself
// sees it. On a full disk, a failed read or write and a lack of memory SQLite
// may roll the whole transaction back by itself
// (https://www.sqlite.org/lang_transaction.html, "Response To Errors Within A
// Transaction"); each statement after that would commit alone. Its rollback
// hook tells when that happens, and its commit hook lets nothing reach the file
// but by commit. The hooks run in the goroutine that runs the statement.
type sqliteTx struct {
	conn *sql.Conn
	// open says that the transaction is there, with all that ran in it.
	open       bool
	committing bool
}

// errEnded is the cause when an operation kept SQLite's own to itself.
var errEnded = errors.New("SQLite rolled the transaction back")

func newSQLiteTx(conn *sql.Conn) (*sqliteTx, error) {
	s := &sqliteTx{conn: conn}
	err := conn.Raw(func(c any) error {
		hooks, ok := c.(sqlitedriver.HookRegisterer)
		if !ok {
			return fmt.Errorf("%T has no hooks", c)
		}
		hooks.RegisterRollbackHook(func() { s.open = false })
		hooks.RegisterCommitHook(func() int32 {
			if s.committing {
				return 0
			}
			return 1 // rolls back
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("watch transactions: %w", err)
	}
	return s, nil
}

// begin opens the transaction. One whose ROLLBACK failed is ended first, so
// that the connection is not inside it for ever.
func (s *sqliteTx) begin(ctx context.Context) error {
	if err := s.rollback(ctx); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	s.open = true
	return nil
}

// rollback ends the transaction if it is still there. Also when it fails
// nothing of it can be committed any more.
func (s *sqliteTx) rollback(ctx context.Context) error {
	if !s.open {
		return nil
	}
	if _, err := s.conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	s.open = false
	return nil
}

// commit writes the transaction to the file. An error is a commitError when
// the transaction may still turn up there; after any other it is undone.
func (s *sqliteTx) commit(ctx context.Context) error {
	err := s.tryCommit(ctx)
	if err == nil {
		return nil
	}
	// Still open: no lock was got, and nothing was written.
	if s.open || full(err) {
		return errors.Join(fmt.Errorf("commit: %w", err), s.rollback(ctx))
	}
	if unsealed := s.seal(ctx); unsealed != nil {
		return &commitError{err: errors.Join(err, unsealed)}
	}
	return fmt.Errorf("commit: %w", err)
}

func (s *sqliteTx) tryCommit(ctx context.Context) error {
	s.committing = true
	_, err := s.conn.ExecContext(ctx, "COMMIT")
	s.committing = false
	if err == nil {
		s.open = false
	}
	return err
}

// seal makes a COMMIT that failed fail for good. Where only the last step of it
// failed, such as fsync, the write-ahead log holds all of the transaction:
// readers do not see it, but a process that is killed now would leave it to the
// next one's recovery. Another commit writes over it. It has to change a page,
// which an update to the same value does not.
func (s *sqliteTx) seal(ctx context.Context) error {
	err := s.begin(ctx)
	for _, q := range []string{
		`INSERT INTO settings (name, value) VALUES ('sealing', '')`,
		`DELETE FROM settings WHERE name = 'sealing'`,
	} {
		if err == nil {
			_, err = s.conn.ExecContext(ctx, q)
		}
	}
	if err == nil {
		err = s.tryCommit(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("seal the write-ahead log: %w", err), s.rollback(ctx))
	}
	return nil
}

// full reports whether the disk had no room. A COMMIT that says so has not
// written its last frame, without which none of it counts.
func full(err error) bool {
	var e *sqlitedriver.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_FULL
}
