package source

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/postledger/postledger/lens/catalogue"
)

// ErrDSN is the reason for every DSN that is refused.
var ErrDSN = errors.New("bad data source name")

// DialectOf tells the dialect of a DSN by its scheme:
//
//	postgres://user:password@host:5432/database?sslmode=verify-full
//	mysql://user:password@host:3306/database?tls=true   (also mariadb://)
//	sqlite:///absolute/path.db, sqlite:relative/path.db
func DialectOf(dsn string) (catalogue.Dialect, error) {
	scheme, _, found := strings.Cut(dsn, ":")
	if !found {
		return "", fmt.Errorf("%w: its scheme must be postgres, mysql, mariadb or sqlite", ErrDSN)
	}
	switch scheme {
	case "postgres", "postgresql":
		return catalogue.PostgreSQL, nil
	case "mysql", "mariadb":
		return catalogue.MySQL, nil
	case "sqlite":
		return catalogue.SQLite, nil
	}
	return "", fmt.Errorf("%w: its scheme must be postgres, mysql, mariadb or sqlite", ErrDSN)
}

// parseURL never returns url.Parse's own error, which quotes the whole DSN.
func parseURL(dsn string) (*url.URL, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not a URL", ErrDSN)
	}
	return u, nil
}
