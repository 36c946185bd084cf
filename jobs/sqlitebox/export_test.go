package sqlitebox

import "github.com/postledger/postledger/jobs/internal/sqlbox"

// Dialect is for tests that ask for plans.
func Dialect() sqlbox.Dialect { return newDialect() }
