package testserver

import (
	"os"
	"testing"
)

// sharedCluster is the PostgreSQL server of all tests of this checkout.
func sharedCluster(tb testing.TB) cluster {
	tb.Helper()
	programs := needPostgres(tb)
	dir, owner := sharedDir(tb), postgresUser(tb)
	return sharing[cluster]{
		name:  "PostgreSQL",
		dir:   dir,
		owner: owner,
		create: func(name string, port int) (cluster, error) {
			return initCluster(programs, owner, dir, name, port)
		},
		command: func(c cluster) []string {
			return append([]string{programs.path("postgres")}, c.serverArgs()...)
		},
		ask:     "INT",
		ready:   cluster.ready,
		answers: cluster.answers,
		prepare: cluster.createRole,
		end: func(data string) {
			_ = owner.command(dir, programs.path("pg_ctl"), "-D", data, "-m", "immediate", "-t", "10", "stop").Run()
		},
	}.use(tb)
}

func needPostgres(tb testing.TB) postgresPrograms {
	tb.Helper()
	programs, ok := findPostgres()
	if !ok {
		tb.Fatalf("PostgreSQL %d or newer is not installed: run `make deps`, or set %s", oldestPostgres, postgresURLVariable)
	}
	if os.Getuid() == 0 && !postgresUser(tb).asOther {
		tb.Fatal("PostgreSQL refuses to run as root and there is no user postgres: run `make deps`")
	}
	return programs
}
