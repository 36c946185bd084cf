package source

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mysqlParameters are what a DSN may say beside host, login and database. All
// else decides what values mean, and is ours.
var mysqlParameters = map[string]bool{"tls": true}

func openMySQL(dsn string, options Options) (*sql.DB, error) {
	u, err := parseURL(dsn)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.TrimPrefix(u.Path, "/")
	if config.DBName == "" {
		return nil, fmt.Errorf("%w: it names no database", ErrDSN)
	}
	config.Net, config.Addr = "tcp", u.Host
	if u.Port() == "" {
		config.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	for name, values := range u.Query() {
		if !mysqlParameters[name] || len(values) != 1 {
			// Not its name: a question mark in a password makes one of the rest.
			return nil, fmt.Errorf("%w: a MySQL source takes the parameter tls, and no other", ErrDSN)
		}
	}
	config.TLSConfig = u.Query().Get("tls")
	// The call's own deadline comes first and is what the error tells; these are for
	// what has none.
	patience := options.Timeout + time.Second
	config.Timeout, config.ReadTimeout, config.WriteTimeout = options.Connect, patience, patience
	config.Collation = "utf8mb4_general_ci" // both servers know it; comparisons name their own
	config.Logger = log.New(io.Discard, "", 0)
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("%w: MySQL's driver refuses it", ErrDSN)
	}
	milliseconds := options.Timeout.Milliseconds()
	return sql.OpenDB(&sessionConnector{Connector: connector, setup: []string{
		"SET SESSION TRANSACTION READ ONLY",
		"SET SESSION time_zone = '+00:00'",
		"SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
	}, either: [2]string{
		fmt.Sprintf("SET SESSION max_statement_time = %d.%03d", milliseconds/1000, milliseconds%1000), // MariaDB
		fmt.Sprintf("SET SESSION max_execution_time = %d", milliseconds),                              // MySQL
	}}), nil
}

func isMariaDB(version string) bool { return strings.Contains(version, "MariaDB") }

// sessionConnector sets up every new connection before anybody uses it.
type sessionConnector struct {
	driver.Connector
	setup []string
	// either is tried in turn: one server knows the first, one the second.
	either [2]string
}

// Connect makes a connection; one whose session cannot be set up is closed.
func (c *sessionConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

func (c *sessionConnector) prepare(ctx context.Context, conn driver.Conn) error {
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return errors.New("the driver cannot set up a session")
	}
	for _, statement := range c.setup {
		if _, err := execer.ExecContext(ctx, statement, nil); err != nil {
			return fmt.Errorf("set up the session: %w", err)
		}
	}
	_, err := execer.ExecContext(ctx, c.either[0], nil)
	if err != nil {
		_, err = execer.ExecContext(ctx, c.either[1], nil)
	}
	if err != nil {
		return fmt.Errorf("set the statement timeout: %w", err)
	}
	return nil
}
