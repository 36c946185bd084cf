package testserver

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"
)

const mariadbURLVariable = "POSTLEDGER_TEST_MARIADB_URL"

// MariaDB returns the data source name, for the driver "mysql", of a fresh,
// empty database for this test. The database is dropped when the test has ended.
//
// It is on the server of POSTLEDGER_TEST_MARIADB_URL if that is set (a MariaDB
// or MySQL, as mysql://user:password@host:port; the user must be allowed to
// create databases), else on the server that all tests of this checkout share,
// where it belongs to a user without other rights.
func MariaDB(tb testing.TB) (dsn string) {
	tb.Helper()
	var admin, user *mysql.Config
	if given := os.Getenv(mariadbURLVariable); given != "" {
		config, err := givenMariaDB(given)
		if err != nil {
			tb.Fatalf("%s: %v", mariadbURLVariable, err)
		}
		admin, user = config, config
	} else {
		node := sharedMariaDB(tb)
		admin, user = node.config("root"), node.config(appRole)
	}
	database := "test_" + randomHex(8)
	if err := mariadbExec(admin, "CREATE DATABASE "+database+" CHARACTER SET utf8mb4"); err != nil {
		tb.Fatalf("create a database: %v", err)
	}
	tb.Cleanup(func() {
		if err := mariadbExec(admin, "DROP DATABASE "+database); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})
	own := user.Clone()
	own.DBName = database
	return own.FormatDSN()
}

func givenMariaDB(given string) (*mysql.Config, error) {
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "mysql" || u.Host == "" {
		return nil, errors.New("not of the form mysql://user:password@host:port")
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User = "tcp", u.Host, u.User.Username()
	config.Passwd, _ = u.User.Password()
	return config, nil
}

func mariadbExec(config *mysql.Config, statements ...string) error {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return fmt.Errorf("configure the connection: %w", err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			return fmt.Errorf("run a statement: %w", err)
		}
	}
	return nil
}
