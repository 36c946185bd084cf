// Package app puts a process together from its configuration, and takes it
// apart again. It is the only package that knows every other.
//
// # Start
//
// Each step needs the ones before it: the lock of the embedded ledger, the
// ledger and its schema, the encryption keys, the blob store, the next hops,
// the worker, the services, and at last the listeners. A step that fails takes
// down what was started, in the opposite order, and nothing was sent.
//
// # Stop
//
// The listeners stop taking requests and answer those they have; the worker
// finishes what is on the wire, returns the leases it did not use and flushes
// its settles; then the ledger closes. StopTimeout bounds all of it together:
// what is cut off is settled from the wire journal by the next start.
//
// # One process on SQLite
//
// A process that serves holds an exclusive lock on a file beside the embedded
// ledger, for its life; the kernel frees it when the process is killed. A
// second one is refused before it has opened anything.
package app
