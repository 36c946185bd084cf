// Package sqlbox is what the outbox stores have in common: the statements, the
// order in which they run, and what is tried again. A store is this package and
// a [Dialect].
//
// # The table
//
// job_outbox holds a row for each job. Its column place is the order in which
// rows were written. The state is a number:
//
//	0 waiting      buffered and due
//	1 scheduled    buffered and due later, by run_at
//	2 admitted     in the hot set, or on its way into it
//	3 quarantined  set aside
//
// Rows that are due later have a state of their own: a page of what is due never
// steps over them, however many they are. Ripen moves them.
//
// # What survives a crash
//
// Each method is one transaction, committed with the database's own durability.
// Statements that meet a deadlock, a lock that is taken, or a unique key that was
// inserted at the same moment run again, as a whole transaction.
//
// Times are microseconds of the database's clock ([Dialect.Now]); on SQLite that
// is the machine's.
package sqlbox
