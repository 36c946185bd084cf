package jobs

import "time"

// Entry is a job as the queue keeps it, in the hot set and in the outbox.
type Entry struct {
	Job
	// Rev is the row's revision, which every upsert of a dedupe key raises.
	// A job that never had a row has revision 1, as a new row has.
	Rev int64
	// Durable: the outbox row stays until the job has finished. It is so in
	// mode Always, for EnqueueTx, and for nothing else.
	Durable bool
	// Attempts counts the runs that were charged and have ended.
	Attempts int
	// EnqueuedAt is when the producer handed it over.
	EnqueuedAt time.Time
}

// Ref names one revision of a job. What touches a row names the revision that it
// read, so an upsert in between is never lost.
type Ref struct {
	ID  ID
	Rev int64
}

// Ref names this revision of the job.
func (e *Entry) Ref() Ref { return Ref{ID: e.ID, Rev: e.Rev} }

// HotCost is how many bytes the job counts for in the hot set: its record, rounded
// up to how allocators round, and what indexes it.
func (e *Entry) HotCost() int64 { return RecordCost(recordSize(e)) }
