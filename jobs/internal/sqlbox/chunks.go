package sqlbox

import (
	"bytes"
	"iter"
	"slices"

	"github.com/postledger/postledger/jobs"
)

// chunks are parts of at most chunk elements.
func chunks[T any](all []T) iter.Seq[[]T] { return slices.Chunk(all, chunk) }

// inOrder sorts refs by id: transactions that lock the same rows lock them in the
// same order, as far as the database follows the list.
func inOrder(refs []jobs.Ref) []jobs.Ref {
	return slices.SortedFunc(slices.Values(refs), func(a, b jobs.Ref) int { return bytes.Compare(a.ID[:], b.ID[:]) })
}

// statementBytes bounds the payloads of one insert below what databases take in
// one packet (MariaDB 16 MiB). The first row comes always: it has 64 KiB at most.
const statementBytes = 4 << 20

// recordChunks are parts of at most chunk rows and statementBytes.
func recordChunks(rows []Record) iter.Seq[[]Record] {
	return func(yield func([]Record) bool) {
		for len(rows) > 0 {
			n, size := 0, 0
			for n < min(len(rows), chunk) && (n == 0 || size+len(rows[n].Payload) <= statementBytes) {
				size += len(rows[n].Payload)
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}
