package testserver

import "testing"

// sharedMariaDB is the MariaDB server of all tests of this checkout.
func sharedMariaDB(tb testing.TB) mariadbNode {
	tb.Helper()
	programs := needMariaDB(tb)
	dir, owner := kindDir(tb, "mariadb"), postgresUser(tb)
	return sharing[mariadbNode]{
		name:  "MariaDB",
		dir:   dir,
		owner: owner,
		create: func(name string, port int) (mariadbNode, error) {
			return newMariaDBNode(programs, owner, dir, name, port)
		},
		command: func(n mariadbNode) []string { return n.command(programs) },
		ask:     "TERM",
		ready:   mariadbNode.ready,
		answers: mariadbNode.answers,
		prepare: func(mariadbNode) error { return nil },
		end:     func(data string) { endByPIDFile(mariadbNode{Data: data}.pidFile(), data) },
	}.use(tb)
}
