package source

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"

	_ "modernc.org/sqlite" // the driver registers itself
)

// openSQLite opens an existing file. Only the path is taken from the DSN: every
// parameter is ours.
func openSQLite(dsn string, options Options) (*sql.DB, error) {
	path, parameters, _ := strings.Cut(strings.TrimPrefix(dsn, "sqlite:"), "?")
	path = strings.TrimPrefix(path, "//")
	switch {
	case parameters != "":
		return nil, fmt.Errorf("%w: a SQLite source takes no parameters", ErrDSN)
	case path == "" || strings.Contains(path, ":memory:"):
		return nil, fmt.Errorf("%w: a SQLite source names a file", ErrDSN)
	}
	// The driver would create what is missing, or say only "out of memory".
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open the source: %w", err)
	} else if info.IsDir() {
		return nil, fmt.Errorf("%w: %s is a directory", ErrDSN, path)
	}
	query := url.Values{}
	query.Set("mode", "ro")
	query.Add("_pragma", "query_only(1)")
	query.Add("_pragma", "trusted_schema(0)")
	query.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", options.Timeout.Milliseconds()))
	file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return sql.Open("sqlite", file.String()+"?"+query.Encode())
}
