// Package deliver takes what is queued to the next hop:
// lease → gates → render → transport → settle.
//
// One Worker a process. One goroutine leases, for the keys that have work and
// in turns (fair), no more than a profile's connections, pace and health
// allow. Each envelope is sent by a goroutine of its profile; a settler writes
// the outcomes in batches, and only its commit frees what the envelope held.
//
// # What survives
//
// A lease is committed before an envelope's first byte. The wire journal
// records the moment before its last byte and the answer. After kill -9 at any
// instruction the next start (or another process on this machine) reads the
// journal: what was answered, or refused before the last byte, is settled; the
// rest of what was begun becomes unconfirmed, and what has no record goes back
// to queued. Without a journal that proves anything, a lease
// becomes unconfirmed, and only once its owner's heartbeat has stood still
// while the observer itself had answers from the database: elapsed time by a
// clock proves nothing.
//
// # Who may transmit
//
// A worker that could not write a heartbeat for StaleAfter starts no
// transaction and drops connections before the dot, also those of leases from
// before such a silence once it is over, so that it is silent well
// before anybody declares it lost (LostAfter). An answer that comes later all
// the same is settled under its fence, also when recovery has said
// unconfirmed.
//
// # Lanes
//
// Of a profile's connections at least one and at least a quarter are kept for
// the immediate lane, in leases and on the wire, and each lane has half of the
// memory for bodies (invariant 8).
//
// # Pace
//
// A profile's pace is for all processes together: each living worker takes an
// equal part of it (share.go), and slows down by itself when the hop throttles.
package deliver
