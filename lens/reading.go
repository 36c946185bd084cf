package lens

import (
	"context"

	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// What one statement of a stream reads at most: as many rows as keep it busy for much
// longer than it takes to begin, and as many bytes as may lie in memory twice, in what is
// handed out and in what is read meanwhile. Rows that bring others along are read a page
// at a time.
const (
	streamRows  = 8_000
	streamBytes = 2 << 20
)

// reading is where a stream is.
type reading struct {
	query  *Query
	source *source.Source
	after  Cursor
	limit  int
	// page is the size of the pages that batches are handed out in.
	page int
	// in is the batch that is handed out, and spent the one before it.
	in, spent *batch
	// done: nothing comes after what was read.
	done bool
	// coming gives one batch, which a goroutine reads; nil when none does. It has room
	// for that one, so that the goroutine ends by itself.
	coming chan read
	cancel context.CancelFunc
}

type read struct {
	batch *batch
	err   error
}

// batch waits for the batch that is read already, or reads one.
func (r *reading) batch(ctx context.Context) (*batch, error) {
	var next read
	if r.coming != nil {
		next = <-r.coming
		r.cancel()
		r.coming = nil
	} else {
		next = r.read(ctx)
	}
	if next.err != nil {
		return nil, next.err
	}
	return next.batch, r.went(next.batch)
}

func (r *reading) read(ctx context.Context) (n read) {
	n.batch, n.err = r.query.batch(ctx, r.source, nil, r.after, r.limit, streamBytes, r.spent)
	return n
}

// went remembers where a batch ended, and how large the next may be.
func (r *reading) went(b *batch) (err error) {
	r.in, r.spent = b, r.in
	if r.done = !b.more; r.done {
		return nil
	}
	n := b.block.Len()
	if r.after, err = b.cursor(n - 1); err != nil {
		return err
	}
	if !b.read.follows {
		fit := max(1, streamBytes*n/b.block.Size())
		r.limit = min(4*r.limit, fit, streamRows, r.source.Options().Rows-1)
		if r.limit > r.page {
			r.limit -= r.limit % r.page
		}
	}
	return nil
}

// ahead begins to read the next batch. A file of SQLite would be locked for those who
// write while they go through the rows, and its reader is no other machine.
func (r *reading) ahead(ctx context.Context) {
	if r.done || r.source.Dialect() == catalogue.SQLite {
		return
	}
	ctx, r.cancel = context.WithCancel(ctx)
	coming := make(chan read, 1)
	r.coming = coming
	go func() { coming <- r.read(ctx) }()
}

// stop ends what is still read, and waits for it.
func (r *reading) stop() {
	if r.coming != nil {
		r.cancel()
		<-r.coming
		r.coming = nil
	}
}
