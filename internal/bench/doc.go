// Command bench measures Postledger against what cannot be done cheaper, on
// the same servers, in the same minutes.
//
// A floor is a straight-line program that does only the unavoidable work: no
// gates, no pace, no retries, no books, and a panic for every error. Floor and
// Postledger run in turn, each in a process of its own, and every bar is a
// ratio within such a pair: the machine's speed drifts, and absolute figures
// say little. They are printed and never judged.
//
// A bar fails when the median of the pairs misses it and at least five of
// seven pairs do (with another number of pairs, the same share).
//
// The measured programs are this one again, called with the name of a part and
// a job on standard input (see child.go); the SMTP sink is another such
// process. PostgreSQL is a private server with fsync and synchronous_commit on.
package main
