package source

import "time"

// Options bound what a source may cost. The zero value means the defaults.
type Options struct {
	// Connections is the size of the pool: 2.
	Connections int
	// Timeout ends a statement, on the server where it can and here in any
	// case: 30 s. Connect ends the making of a connection: 10 s.
	Timeout, Connect time.Duration
	// Rows is the most rows that one statement may return; what returns more
	// fails: 10,000.
	Rows int
	// Schemas are the PostgreSQL schemas to read, the first of them the default:
	// the login's current schema. Tables of others are named schema_table.
	Schemas []string
}

func (o Options) withDefaults() Options {
	if o.Connections <= 0 {
		o.Connections = 2
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Connect <= 0 {
		o.Connect = 10 * time.Second
	}
	if o.Rows <= 0 {
		o.Rows = 10_000
	}
	return o
}
