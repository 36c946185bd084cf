package source

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"

	"github.com/postledger/postledger/lens/catalogue"
)

// Writable tries whether the login could write if nobody stopped it: it deletes,
// updates and inserts no rows (WHERE 1 = 0) of a table, in transactions that it
// rolls back and that for once are not read-only. A source whose login can write works, and
// people should be warned. For SQLite it tells whether the file can be written.
func (s *Source) Writable(ctx context.Context, table *catalogue.Table) (bool, error) {
	if s.dialect == catalogue.SQLite {
		return s.fileWritable(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	name := s.dialect.Quoted(table.Schema, table.SQLName)
	attempts := []string{"DELETE FROM " + name + " WHERE 1 = 0"}
	if columns := table.Columns(); len(columns) > 0 {
		column := s.dialect.Quote(columns[0].SQLName)
		attempts = append(
			attempts,
			"UPDATE "+name+" SET "+column+" = "+column+" WHERE 1 = 0",
			"INSERT INTO "+name+" ("+column+") SELECT "+column+" FROM "+name+" WHERE 1 = 0",
		)
	}
	for _, attempt := range attempts {
		if allowed, err := s.allowed(ctx, attempt); allowed || err != nil {
			return allowed, err
		}
	}
	return false, nil
}

// allowed tries one statement that changes nothing, and takes it back.
func (s *Source) allowed(ctx context.Context, statement string) (bool, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return false, fmt.Errorf("take a connection: %w", err)
	}
	defer func() { _ = conn.Close() }()
	begin := "BEGIN READ WRITE"
	if s.dialect == catalogue.MySQL {
		begin = "START TRANSACTION READ WRITE"
	}
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		// The server itself keeps this login from writing, if it is still there.
		if err := conn.PingContext(ctx); err != nil {
			return false, fmt.Errorf("begin to write: %w", ended(ctx, err))
		}
		return false, nil
	}
	_, refused := conn.ExecContext(ctx, statement)
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		// A connection in an unknown state must not go back to the pool.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		return false, fmt.Errorf("roll back: %w", err)
	}
	return refused == nil, nil
}

func (s *Source) fileWritable(ctx context.Context) (bool, error) {
	var path sql.NullString
	err := s.Read(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'", nil,
		func(scan func(...any) error) error { return scan(&path) })
	if err != nil {
		return false, err
	}
	file, err := os.OpenFile(path.String, os.O_WRONLY, 0)
	if err != nil {
		return false, nil // that it cannot be opened is the answer
	}
	return true, file.Close()
}
