package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// prepareStatements makes the server able to count, and counts nothing yet:
// what is compared with something else runs without it.
func (s *servers) prepareStatements(restart func()) error {
	if err := s.exec(`ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`); err != nil {
		return err
	}
	restart()
	return s.exec(`CREATE EXTENSION pg_stat_statements`, `ALTER SYSTEM SET pg_stat_statements.track = 'none'`, `SELECT pg_reload_conf()`)
}

// statement is what one statement cost PostgreSQL, in µs of its execution.
type statement struct {
	text  string
	calls int64
	us    float64
}

// statementsOf runs fn while the statements of a database are counted, and
// returns them, the dearest first. The time of a COMMIT, which writes the log,
// is none of them.
func (s *servers) statementsOf(database string, fn func() error) ([]statement, error) {
	u, err := url.Parse(database)
	if err != nil {
		return nil, fmt.Errorf("read the database's URL: %w", err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	alter := "ALTER DATABASE " + pgx.Identifier{name}.Sanitize()
	if err := s.exec(alter+` SET pg_stat_statements.track = 'top'`, `SELECT pg_stat_statements_reset()`); err != nil {
		return nil, err
	}
	if err := fn(); err != nil {
		return nil, err
	}
	var out []statement
	err = s.asAdmin(func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, `SELECT query, calls, total_exec_time * 1000 FROM pg_stat_statements s
			JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1 ORDER BY 3 DESC`, name)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var st statement
			if err := rows.Scan(&st.text, &st.calls, &st.us); err != nil {
				return err
			}
			st.text = strings.Join(strings.Fields(st.text), " ")
			out = append(out, st)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read the statements' cost: %w", err)
	}
	return out, s.exec(alter + ` RESET pg_stat_statements.track`)
}
