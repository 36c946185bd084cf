package sqlbox

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Migrate brings the schema to the newest version that the files hold: names
// begin with their version, statements end with a semicolon at the end of a
// line. What was applied is in job_schema. Each version is one transaction where
// the database can undo a CREATE; where it cannot, its statements must bear to be
// run again. Callers that migrate at once wait for each other (lock is run first
// in each transaction).
func (b *Box) Migrate(ctx context.Context, files fs.FS, lock string) error {
	versions, err := versionsOf(files)
	if err != nil {
		return err
	}
	for _, v := range versions {
		err := b.write(ctx, fmt.Sprintf("migrate the job schema to version %d", v.number), func(s *session) error {
			return s.apply(v, lock)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

type version struct {
	number     int
	statements []string
}

func versionsOf(files fs.FS) ([]version, error) {
	names, err := fs.Glob(files, "*.sql") // sorted by name
	if err != nil {
		return nil, fmt.Errorf("read the job schema: %w", err)
	}
	versions := make([]version, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read the job schema: %w", err)
		}
		digits, _, _ := strings.Cut(name, "_")
		number, err := strconv.Atoi(digits)
		if err != nil {
			return nil, fmt.Errorf("read the job schema: %s does not begin with its version", name)
		}
		v := version{number: number}
		for statement := range strings.SplitSeq(string(text), ";\n") {
			if statement = strings.TrimSpace(statement); statement != "" {
				v.statements = append(v.statements, statement)
			}
		}
		versions = append(versions, v)
	}
	return versions, nil
}

func (s *session) apply(v version, lock string) error {
	if lock != "" {
		if err := s.each(lock, nil, discard); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
	}
	if _, err := s.exec("CREATE TABLE IF NOT EXISTS job_schema (version INTEGER NOT NULL PRIMARY KEY)"); err != nil {
		return fmt.Errorf("make its table: %w", err)
	}
	var applied int
	if err := s.one("SELECT count(*) FROM job_schema WHERE version = ?", []any{v.number}, &applied); err != nil {
		return fmt.Errorf("read what was applied: %w", err)
	}
	if applied > 0 {
		return nil
	}
	for _, statement := range v.statements {
		if _, err := s.exec(statement); err != nil {
			return err
		}
	}
	_, err := s.exec("INSERT INTO job_schema (version) VALUES (?)", v.number)
	return err
}

func discard(*sql.Rows) (bool, error) { return true, nil }
