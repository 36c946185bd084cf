// Package memhot is the hot set in this process's memory: for one process, for
// development and for tests. It is bounded as a set in Redis is, and keeps the
// same order. What it holds is gone with the process; in mode jobs.Always the
// rows bring it back.
package memhot
