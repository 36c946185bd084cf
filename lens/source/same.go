package source

import (
	"context"
	"fmt"
	"os"

	"github.com/postledger/postledger/lens/catalogue"
)

// Same tells whether two sources are one database: one file, or one database of
// one running server, whatever names and logins lead there.
func (s *Source) Same(ctx context.Context, other *Source) (bool, error) {
	if s.dialect != other.dialect {
		return false, nil
	}
	mine, err := s.identity(ctx)
	if err != nil {
		return false, err
	}
	theirs, err := other.identity(ctx)
	if err != nil || s.dialect != catalogue.SQLite {
		return err == nil && mine == theirs, err
	}
	a, err := os.Stat(mine)
	if err != nil {
		return false, fmt.Errorf("compare sources: %w", err)
	}
	b, err := os.Stat(theirs)
	if err != nil {
		return false, fmt.Errorf("compare sources: %w", err)
	}
	return os.SameFile(a, b), nil
}

// identity names the database as its server does. A server's moment of start, to
// the microsecond, tells it from every other; every login may ask for it.
func (s *Source) identity(ctx context.Context) (string, error) {
	question := map[catalogue.Dialect]string{
		catalogue.PostgreSQL: "SELECT pg_postmaster_start_time()::text || ' ' || current_database()",
		catalogue.MySQL:      "SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, DATABASE())",
		catalogue.SQLite:     "SELECT file FROM pragma_database_list WHERE name = 'main'",
	}[s.dialect]
	var answer string
	err := s.Read(ctx, question, nil, func(scan func(...any) error) error { return scan(&answer) })
	if err != nil {
		return "", fmt.Errorf("identify the source: %w", err)
	}
	return answer, nil
}
