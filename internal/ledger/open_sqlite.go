package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"
)

// openSQLite opens one connection for the writer and four for readers.
// _txlock=immediate: a transaction that reads and then writes takes the lock
// first, since busy_timeout does not help one that wants to raise it later.
func (l *Ledger) openSQLite(ctx context.Context, path string) error {
	if path == "" {
		return ErrBadURL
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the database's directory: %w", err)
	}
	if err := refuseForeignLog(path); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	pragmas := url.Values{"_pragma": {
		"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(10000)",
		"foreign_keys(1)", "temp_store(MEMORY)",
	}}
	writeDSN := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + pragmas.Encode() +
		"&_txlock=immediate&_pragma=cache_size(-32768)&_pragma=journal_size_limit(67108864)&_pragma=wal_autocheckpoint(4000)"
	readDSN := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + pragmas.Encode() +
		"&_pragma=cache_size(-4096)&_pragma=query_only(1)"

	l.writeDSN, l.path = writeDSN, path
	wdb, err := sql.Open("sqlite", writeDSN)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	wdb.SetMaxOpenConns(1)
	conn, err := wdb.Conn(ctx)
	if err != nil {
		wdb.Close()
		return fmt.Errorf("open %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		conn.Close()
		wdb.Close()
		return fmt.Errorf("protect %s: %w", path, err)
	}
	l.db, err = sql.Open("sqlite", readDSN)
	if err != nil {
		conn.Close()
		wdb.Close()
		return fmt.Errorf("open %s for reading: %w", path, err)
	}
	// Four readers: lists, books and waiters of a server with two to four cores.
	l.db.SetMaxOpenConns(4)
	l.db.SetMaxIdleConns(4)
	l.dialect = sqlite
	if l.writer, err = newWriter(conn, l.now); err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", path, err), l.db.Close(), conn.Close(), wdb.Close())
	}
	l.release = wdb.Close
	return nil
}
