// Package journal is the wire journal: the local record of which envelopes may
// have been accepted by the next hop although the ledger does not say so yet.
//
// Each worker process owns one file, <dir>/<worker id>.journal, mapped into its
// memory and locked with flock(2) for its whole life. The file is a header and
// a fixed number of slots. A slot's life:
//
//	Begun     before the write that holds the last byte the next hop needs to
//	          accept (SMTP: the final dot, RFC 5321 §4.1.1.4), with the outcome
//	          of each recipient that is decided by then (refused at RCPT)
//	Answered  as soon as the reply to it was read, with every recipient's outcome
//	Free      only after the settle of every member has committed
//
// What survives. A store into a shared mapping belongs to the kernel the moment
// the instruction retires, so kill -9, a panic or the OOM killer at any
// instruction loses nothing: a record's fields are written first and its state
// word last, by an atomic store, so a reader sees the record before or after a
// step and never between. Nothing is fsynced: the journal outlives the process,
// not the machine. It is therefore believed only under the kernel boot that
// wrote it (the boot id is in the header). The directory must be local to the
// machine and may be on tmpfs.
//
// What it proves about a lease whose owner's journal opens (its lock is free,
// its boot id is the running one and every taken slot is intact):
//
//	answered        the outcomes are what the next hop said: settle them
//	begun           the final byte may have left: unconfirmed, but for the
//	                recipients whose outcome was known by then
//	no record       the final byte was never written: safe to send again
//
// A journal that cannot be opened proves nothing, and the last line above is
// then not true. One damaged slot spoils the whole file, since it could be the
// record of any lease.
//
// The disk space is allocated when the file is made, so that a full disk is an
// error of Create. Should a page fail all the same (somebody cut the file, a
// copy-on-write file system has no room), Begun reports ErrBroken instead of
// letting the signal end the process, and the worker sends nothing more.
//
// The file is private to its user (0600): the texts in it are raw replies and
// may quote an address. The journal needs Linux (fallocate, boot id).
package journal
