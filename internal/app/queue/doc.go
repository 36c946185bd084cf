// Package queue runs the job queue of one process: package jobs, on the ledger's
// database and on memory or Redis.
//
// # What is durable
//
// The mode is jobs.Always: a job's row is committed before anybody is told that
// the job was accepted, and stays until the job has finished. What is hot, in
// memory or in Redis, is lost without loss. Delivery of mail never waits for the
// queue: when Redis does not answer, jobs wait in their rows.
//
// Jobs that the ledger writes with what it settles are put into the hot set by the
// process that settled, as soon as that has committed (jobs.Handover). If it dies in
// between they are found like all that was hot and is lost: with memory by the next
// process, with Redis by the drain, which looks for them after a minute.
//
// # Who runs jobs
//
// With Redis every process takes from one hot set; one of them at a time moves
// rows into it, and one at a time looks for schedules that are due.
//
// With memory the hot set is this process's own, and rows that another process
// had admitted into its own would run twice. So one process of the fleet at a
// time, which holds the lease "memory", has a hot set at all, and runs all jobs;
// what the others hand over waits in its row until that one sees it, two seconds
// at most. When it is gone the lease ends within 15 seconds and another begins
// with an empty set: the drain makes what the former had admitted wait again. One
// that was frozen for longer finds that it lost the lease, and throws its set away;
// what it ran meanwhile may run twice, as every job may.
//
// An embedded ledger has one process, which the ledger's lock file sees to: it
// asks for no lease, and waits for none that a killed process left behind.
//
// # Stop
//
// Stop takes no more jobs, lets those that run finish, writes what became of them,
// returns the rest, gives back the leases, and at last writes what was handed over
// and not yet written.
package queue
