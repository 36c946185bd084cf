package testserver

import (
	"context"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

const postgresURLVariable = "POSTLEDGER_TEST_POSTGRES_URL"

// Postgres returns the URL of a fresh, empty database for this test. It is
// dropped, with whatever is still connected to it, when the test has ended.
//
// The database belongs to a role without superuser rights. It is on the server
// of POSTLEDGER_TEST_POSTGRES_URL if that is set (the role in it needs CREATEDB),
// else on the server that all tests of this checkout share.
func Postgres(tb testing.TB) string {
	tb.Helper()
	var adminURL, database, role string
	database = "test_" + randomHex(8)
	if given := os.Getenv(postgresURLVariable); given != "" {
		adminURL = given
	} else {
		c := sharedCluster(tb)
		adminURL, role = c.url(superuser, "postgres"), appRole
	}

	create := "CREATE DATABASE " + database + " TEMPLATE template0"
	if role != "" {
		create += " OWNER " + role
	}
	if err := admin(adminURL, statement(create)); err != nil {
		tb.Fatalf("create a database: %v", err)
	}
	tb.Cleanup(func() {
		if err := admin(adminURL, statement("DROP DATABASE "+database+" WITH (FORCE)")); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})

	u, err := url.Parse(adminURL)
	if err != nil {
		tb.Fatalf("%s is not a URL", postgresURLVariable)
	}
	u.Path = "/" + database
	if role != "" {
		password, _ := u.User.Password()
		u.User = url.UserPassword(role, password)
	}
	return u.String()
}

func statement(sql string) func(context.Context, *pgconn.PgConn) error {
	return func(ctx context.Context, conn *pgconn.PgConn) error { return run(ctx, conn, sql) }
}

// useSharedDir marks the shared directory as in use until the test has ended.
// Nobody removes anything from it meanwhile.
func useSharedDir(tb testing.TB, dir string) {
	tb.Helper()
	lock, err := acquireLock(usersLock(dir), syscall.LOCK_SH, lockTimeout)
	if err != nil {
		tb.Fatalf("use the shared test server: %v", err)
	}
	tb.Cleanup(lock.release)
}
