package testserver_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/postledger/postledger/internal/testserver"
)

func TestMariaDBGivesEachTestItsOwnEmptyDatabase(t *testing.T) {
	t.Parallel()
	first, second := testserver.MariaDB(t), testserver.MariaDB(t)
	mariadbExec(t, first, "CREATE TABLE mine (n int)")
	for dsn, want := range map[string]int{first: 1, second: 0} {
		var tables int
		err := openMariaDB(t, dsn).QueryRow("SELECT count(*) FROM information_schema.tables WHERE table_schema = database()").Scan(&tables)
		if err != nil || tables != want {
			t.Errorf("%d tables (%v), want %d", tables, err, want)
		}
	}
	var gone string
	t.Run("user", func(t *testing.T) {
		gone = testserver.MariaDB(t)
		mariadbExec(t, gone, "CREATE TABLE mine (n int)")
	})
	if err := openMariaDB(t, gone).Ping(); err == nil {
		t.Error("the database outlived its test")
	}
}

func TestMariaDBIsDurableAndUnprivileged(t *testing.T) {
	t.Parallel()
	db := openMariaDB(t, testserver.MariaDB(t))
	for setting, want := range map[string]string{
		"innodb_flush_log_at_trx_commit": "1",
		"innodb_doublewrite":             "1",
		"performance_schema":             "0",
		"character_set_server":           "utf8mb4",
	} {
		var got string
		if err := db.QueryRow("SELECT @@" + setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", setting, got, err, want)
		}
	}
	if _, err := db.Exec("CREATE DATABASE other"); err == nil {
		t.Error("the user may create a database that is not a test's")
	}
}

func TestPrivateMariaDBStopsStartsAndFreezes(t *testing.T) {
	t.Parallel()
	server := testserver.PrivateMariaDB(t, "max-allowed-packet=2M")
	db := openMariaDB(t, server.DSN())
	var packet int
	if err := db.QueryRow("SELECT @@max_allowed_packet").Scan(&packet); err != nil || packet != 2<<20 {
		t.Errorf("max_allowed_packet is %d (%v), want the setting that was given", packet, err)
	}
	mariadbExec(t, server.DSN(), "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (1)")

	server.Pause()
	frozen, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := db.ExecContext(frozen, "SELECT 1"); err == nil {
		t.Error("a frozen server answered")
	}
	server.Resume()

	for name, restart := range map[string]func(){"killed": server.Kill, "stopped": server.Stop} {
		restart()
		if err := openMariaDB(t, server.DSN()).Ping(); err == nil {
			t.Errorf("a server that was %s answered", name)
		}
		server.Start()
		var rows int
		err := openMariaDB(t, server.DSN()).QueryRow("SELECT count(*) FROM kept").Scan(&rows)
		if err != nil || rows != 1 {
			t.Errorf("%d rows (%v) on a server that was %s, want the one that was committed", rows, err, name)
		}
	}
}

func TestMariaDBOnAServerThatIsGiven(t *testing.T) {
	given := testserver.PrivateMariaDB(t)
	config, err := mysql.ParseDSN(given.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("POSTLEDGER_TEST_MARIADB_URL", "mysql://"+config.User+":"+config.Passwd+"@"+config.Addr)
	got, err := mysql.ParseDSN(testserver.MariaDB(t))
	if err != nil {
		t.Fatal(err)
	}
	if got.Addr != given.Addr() || got.DBName == config.DBName {
		t.Errorf("got database %s on %s, want a new one on %s", got.DBName, got.Addr, given.Addr())
	}
	mariadbExec(t, got.FormatDSN(), "CREATE TABLE mine (n int)")
}

func openMariaDB(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

func mariadbExec(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	db := openMariaDB(t, dsn)
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}
