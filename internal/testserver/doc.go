// Package testserver starts the real servers that the tests talk to:
// PostgreSQL, Redis, MariaDB, Mailpit, Postfix's smtp-sink, an independent DKIM
// verifier, a TCP proxy that breaks connections on command, and a disk with
// little room.
//
// Contract:
//
//   - A function that lacks a program fails the test at once, names the program
//     and tells to run `make deps`. It never skips, with one exception: when
//     POSTLEDGER_TEST_POSTGRES_URL (or _REDIS_URL, _MARIADB_URL) names a server
//     and none is installed, [PrivatePostgres] ([PrivateRedis], [PrivateMariaDB])
//     skips, because it cannot stop a server that is not its own.
//   - A returned server accepts connections. What belongs to one test is gone
//     when that test's cleanups have run; a process whose test binary was killed
//     is killed by the kernel.
//   - [Postgres] and [MariaDB] give every test a fresh, empty database, [Redis] a
//     prefix for its keys, on a server that all test processes of a checkout and
//     a user share. The databases run with fsync on, because durability is under
//     test. A shared server stops by itself when it was unused for a minute
//     (`make test` stops it sooner).
//   - Ports are reserved between test processes, so parallel packages never get
//     each other's server.
//
// The package needs Linux (/proc, parent-death signals), as the tests do.
package testserver
