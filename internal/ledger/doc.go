// Package ledger is the truth of Postledger: one row per recipient, in SQLite
// or PostgreSQL. Everything that must survive is committed here before it is
// promised; queues and wake-ups elsewhere only say where to look.
//
// There is one file for each step of a message's way (accept, lease, load,
// settle, recover, …). SQL that the dialects share stands in the step's file;
// where they differ, a file for each dialect stands beside it. The conformance
// suite in ledgertest proves that both keep the same rules.
//
// The rules:
//
//   - Accept is all or nothing: message, deliveries, key, quota, audit and
//     counters commit together (invariants 1, 2 and 7).
//   - A lease is committed before the first byte leaves. Fence counts leases
//     and is never reused; every settle and recovery names it, and one under
//     an old fence changes nothing and says so (invariant 3).
//   - Only Settle writes a state after accept and lease, and it refuses a move
//     that the transition table does not know.
//   - Transactions that meet lock in this order: deliveries by id, then
//     messages, then counters. One that still deadlocks is repeated whole:
//     nothing it did has survived.
//
// Durability: PostgreSQL commits accepts and leases with synchronous_commit=on;
// SQLite runs WAL with synchronous=FULL, and one goroutine writes, so that
// accepts, leases and settles which arrive together share one commit.
//
// Clock: on PostgreSQL every time is the database's (now_us()); on SQLite it
// is the process's. Ownership of a delivery never depends on a clock.
package ledger
