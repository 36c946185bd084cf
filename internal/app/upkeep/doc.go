// Package upkeep removes what need not be kept: content, records, keys and
// audit lines by the retention settings, and attachments that no message
// refers to any more.
//
// # What survives
//
// Every step is one transaction of the ledger, and each can be repeated. A
// crash leaves work for the next pass and nothing else: a blob is noted in the
// transaction that drops its reference, deleted afterwards, and forgotten when
// it is gone. What is not settled, and what is unconfirmed before its
// resolve-by time, is never touched (invariant 15); the ledger's own guards
// say so, not this package.
//
// Orphans are blobs without a message: an upload whose accept failed, or whose
// COMMIT got no answer. They are left alone for 48 hours, since the message
// may still be on its way into the ledger.
//
// Several processes may do the same at once; one finds less to do.
package upkeep
