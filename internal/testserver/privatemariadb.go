package testserver

import (
	"os"
	"os/exec"
	"testing"
)

// mariadbDatabase is the database that a private server begins with. Its name
// is among those that the tests' user may use.
const mariadbDatabase = "test_postledger"

// MariaDBServer is a MariaDB server of one test's own, to be stopped, killed and
// frozen.
type MariaDBServer struct {
	daemon
	node mariadbNode
}

// PrivateMariaDB starts a MariaDB server that belongs to this test. Settings are
// given as "name=value". When the server programs are not installed because
// POSTLEDGER_TEST_MARIADB_URL names another server, the test is skipped.
func PrivateMariaDB(tb testing.TB, settings ...string) *MariaDBServer {
	tb.Helper()
	if _, ok := findMariaDB(tb); !ok && os.Getenv(mariadbURLVariable) != "" {
		tb.Skip("POSTLEDGER_TEST_MARIADB_URL is set and no MariaDB is installed: this test must stop a server of its own")
	}
	programs := needMariaDB(tb)
	dir, owner := kindDir(tb, "mariadb"), postgresUser(tb)
	useSharedDir(tb, dir)
	node, err := newMariaDBNode(programs, owner, dir, "private-"+randomHex(6), reservePort(tb))
	if err != nil {
		tb.Fatalf("create a private MariaDB server: %v", err)
	}
	s := &MariaDBServer{node: node}
	s.daemon = newDaemon(tb, "MariaDB", node.Port,
		func() *exec.Cmd {
			command := node.command(programs, settings...)
			return owner.command(dir, command[0], command[1:]...)
		},
		node.ready)
	tb.Cleanup(func() {
		s.close()
		if err := removeAll(node.Data, node.initFile()); err != nil {
			tb.Errorf("remove the private server's data: %v", err)
		}
	})
	s.Start()
	return s
}

// DSN is the server's database, for the driver "mysql". It stays the same over
// restarts.
func (s *MariaDBServer) DSN() string {
	config := s.node.config(appRole)
	config.DBName = mariadbDatabase
	return config.FormatDSN()
}
