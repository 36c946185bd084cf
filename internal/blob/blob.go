// Package blob defines where attachments are kept.
//
// A blob is written once, whole, under a key that names its owner, and read
// and deleted by that key. There is no overwriting, no sharing and no metadata
// beyond size and time: names, types and digests are in the ledger.
//
// # Contract of a Store
//
//   - When Put returns without error, the blob survives the loss of the process
//     and of the machine's power (files) or is acknowledged by the remote store.
//   - When Put fails, no blob is there under the key that was not there before;
//     after a crash in the middle, List shows none either. (Remote stores: if
//     the answer was lost, the blob may be there; it is found by List.)
//   - A key is written once: a Put of a key that exists fails with ErrExists.
//     Keys hold a fresh message id, so callers never race for one; if two did,
//     the blob would be one of theirs, whole.
//   - Delete of a key that does not exist succeeds, so that it can be repeated.
//   - List returns keys in the order of their bytes, so a page is resumed after
//     the last key of the one before, whatever was added or deleted meanwhile.
//   - Memory does not depend on the size of a blob.
//
// Every backend passes the suite in package blobtest.
package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"time"
)

// Failures a caller can act on. Every other error means that the store could
// not be reached or used.
var (
	ErrKey      = errors.New("blob: key is not app/message/number")
	ErrNotFound = errors.New("blob: there is none under this key")
	ErrExists   = errors.New("blob: there is one under this key already")
	ErrTooLarge = errors.New("blob: content is longer than its limit")
	ErrFull     = errors.New("blob: no space left in the store")
)

// Info is what a store knows of a blob once it has read all of it.
type Info struct {
	Size   int64
	SHA256 [sha256.Size]byte
}

// Entry is one blob in a listing.
type Entry struct {
	Key      string
	Size     int64
	Modified time.Time
}

// Store keeps blobs. It is safe for concurrent use.
type Store interface {
	// Put stores what r yields, up to limit bytes. An error of r is wrapped
	// and returned. A canceled ctx ends the Put after the current read of r.
	Put(ctx context.Context, key string, r io.Reader, limit int64) (Info, error)
	// Open returns the content. The caller closes it.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes a blob if it is there.
	Delete(ctx context.Context, key string) error
	// List returns at most limit blobs whose keys start with prefix and come
	// after the given one. A prefix is "", "app/" or "app/message/".
	List(ctx context.Context, prefix, after string, limit int) ([]Entry, error)
	// Sweep removes what Puts that were interrupted left behind before the
	// given moment, and reports how much that was. It is no blob: List does
	// not show it.
	Sweep(ctx context.Context, before time.Time) (int, error)
	// Check reports whether a Put could succeed now: the store is reachable,
	// writable and not full.
	Check(ctx context.Context) error
}
