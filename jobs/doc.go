// Package jobs is a job queue with a bounded hot set and a durable overflow
// buffer. It keeps one job per unit of work, however many there are: what workers
// can get at soon is hot (in memory or in Redis) and bounded in jobs and bytes;
// the rest waits as rows in the application's own SQL database, oldest first, and
// is metered in.
//
// # Parts
//
//	Client    hands jobs over: Enqueue, EnqueueMany, EnqueueTx
//	Worker    runs registered handlers
//	Hot       the hot set: package memhot (in process), package redishot (Redis,
//	          Valkey); conformance suite hottest
//	Outbox    the rows; conformance suite outboxtest
//	drain     moves rows into the hot set; one in the fleet, by a lease
//	Handover  adds rows that a program wrote with statements of its own
//	schedules make jobs by the clock; one run in the fleet
//
// The package itself needs the standard library and a parser of cron expressions:
// who uses the memory driver does not link a Redis client.
//
// # A job's way
//
// [RouteOf] decides it from the job alone. Whether there is room is decided by
// the hot set in the step that adds, never by a look before it: Add puts the job
// in, or answers Spilled, and then a row is written. While a scope's flag is
// raised (a lane, or a group) new jobs of the scope spill too, so that none
// overtakes the rows. The drain admits rows while the set is below its low water
// and takes the flag down when none are left.
//
// Modes: in [Overflow] a job has a row only while it waits for room or for its
// time, so a job in the hot set is as durable as that is. In [Always], and for
// EnqueueTx, the row is committed first and stays until the job has finished.
//
// # What always holds
//
//  1. Nothing accepted is lost. Enqueue returns nil when the job is in the hot
//     set or its row is committed, and not before. Every accepted job runs until
//     it succeeds, is superseded, or is set aside with a reason (quarantine).
//  2. At least once. A job runs again when a process died between its run and
//     its acknowledgement, between admission and the removal of its row, or when
//     an answer of the hot set was lost. The handler sees the same ID each time
//     and must be idempotent.
//  3. No overshoot. The hot set never holds more than its limits, which count
//     waiting, active and delayed jobs; jobs that may not spill have a reserve of
//     a tenth. A retry or a start later than [HotHorizon] is a row.
//  4. Never overtaking. Plain jobs of a lane start in the order in which one
//     producer enqueued them, up to the concurrency of the workers, however many
//     of them spilled; jobs of a group likewise within the group and lane. Not
//     in this order: retries, jobs for later, jobs with a dedupe key (they take
//     the place of what they replace), what bypasses, and a job
//     of EnqueueTx until the drain has seen its row, which takes 2 s at most (one
//     of a Handover has its place when it was told of, at once).
//  5. The last payload runs. Of jobs with one dedupe key at most one waits in
//     the hot set and at most one row is buffered; the newest wins. What touches
//     a row or a held job names the revision or the lease that it saw.
//  6. Fast work never waits behind slow work: slow jobs have at most their share
//     of the hot set and of each worker's slots.
//  7. A dead or poisoned part does not stop the rest: a group has at most its
//     share of the set, a row that cannot be admitted is set aside after some
//     failures, a record that cannot be read likewise, and a job whose worker
//     died each time is charged an attempt for it.
//  8. No payload stays in the hot set after its job has finished.
//
// # What survives which crash
//
//   - A producer dies before Enqueue returned: the job may or may not run. What
//     it had accumulated had no answer yet.
//   - A worker dies: its leases run out, its jobs return to the front of their
//     lanes, charged.
//   - The drain dies: another takes the lease. Between Add and the marking of the
//     row the job is in both; the next Add answers Duplicate and the row is
//     marked. Its flag expires after a minute (Limits.FlagLife).
//   - The hot set restarts with its data: nothing is lost. With a part of it (an
//     older snapshot, a replica that lagged): the drain asks after admitted rows
//     and makes those buffered that the set does not hold. Empty: its epoch is
//     another and all admitted rows become buffered. Jobs without a row, which
//     mode Overflow permits, are gone; no other job is.
//   - The hot set cannot be reached: ad-hoc jobs become rows, and the producer's
//     next Add raises their flags before it adds. In mode Overflow what may not
//     spill fails with [ErrUnavailable].
//   - The database cannot be reached: in mode Always, and for what spills,
//     Enqueue fails. What is hot goes on; completions are repeated until they are
//     written, and their leases are kept.
//
// # Clocks
//
// Leases, flags and pending spills live for minutes at most, and a deadline that
// is further away than its longest life is brought near: a clock that jumps an
// hour runs jobs twice at worst, and never stops them.
package jobs
