package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postledger/postledger"
)

// The kinds of difference that Books names. Each compares writings that are
// made apart from each other, so that one that is lost or wrong shows.
const (
	// DiffAccepted: accept's count of deliveries is not rows + removed.
	DiffAccepted = "accepted_deliveries"
	// DiffAcceptedMessages: accept's count of messages is not rows + removed.
	DiffAcceptedMessages = "accepted_messages"
	// DiffSettled: settle's count of a state is not its rows + removed.
	DiffSettled = "settled_counts"
	// DiffRecipients: a message's recipients, open count or settled time
	// disagree with its deliveries, or a delivery has no message.
	DiffRecipients = "message_recipients"
	// DiffQuota: the quota's sum is not that of its minutes, or a minute's is
	// not what was accepted in it less what was canceled in time.
	DiffQuota = "quota"
	// DiffLease: a lease is held by a worker that is unknown or has ended.
	DiffLease = "lease_worker"
	// DiffColumns: due, lease, resolve-by or settled time does not fit the state.
	DiffColumns = "state_columns"
	// DiffEvents: a delivery's history does not tell how it came to its state.
	DiffEvents = "history"
	// DiffContent: content is missing that was not purged, or left that was.
	DiffContent = "content"
	// DiffShared: a shared body is not counted by as many contents as have it, or
	// is missing.
	DiffShared = "shared_bodies"
	// DiffBlobLost: an attachment is missing from the blob store.
	DiffBlobLost = "attachment_lost"
	// DiffBlobOrphan: a blob is older than OrphanAge and nothing refers to it.
	DiffBlobOrphan = "blob_orphan"
	// DiffKeys: an idempotency key's message is missing and was not purged.
	DiffKeys = "key_without_message"
)

// Difference is what two writings disagree in.
type Difference struct {
	Kind string
	// Count is how many rows or sums disagree.
	Count int64
	// Samples are ids, or names of sums, of at most 10 of them.
	Samples []string
}

// Totals is the balance: Accepted is the sum of all the rest.
type Totals struct {
	// Accepted is accept's own count.
	Accepted int64
	// States counts the rows in each state; sandbox deliveries are not in it.
	States map[postledger.Status]int64
	// Sandbox deliveries left nothing: they are a line of their own.
	Sandbox int64
	// Removed is what retention took away.
	Removed int64
}

// Sum is what Accepted has to be.
func (t *Totals) Sum() int64 {
	sum := t.Sandbox + t.Removed
	for _, n := range t.States {
		sum += n
	}
	return sum
}

// Report is one audit of the books.
type Report struct {
	// At is when its first snapshot was taken.
	At     time.Time
	Totals Totals
	// Differences is empty when the books balance.
	Differences []Difference
}

// BlobLister lists a blob store's keys with a prefix, in order, after a key.
type BlobLister func(ctx context.Context, prefix, after string, limit int) ([]StoredBlob, error)

// StoredBlob is a blob as its store lists it.
type StoredBlob struct {
	Key      string
	Modified time.Time
}

// bookSlice is how many rows one statement of Books reads.
const bookSlice = 20_000

// Books compares what was written independently. Each comparison sees one
// snapshot, in slices, so that work that goes on meanwhile cannot make a
// difference. With a nil lister blobs are not looked at.
//
// Its snapshots stay open as long as a pass over the table takes (on
// PostgreSQL some seconds a million rows): run it daily, not every minute.
func (l *Ledger) Books(ctx context.Context, blobs BlobLister) (Report, error) {
	r := Report{Totals: Totals{States: map[postledger.Status]int64{}}}
	for _, c := range []struct {
		name string
		run  func(context.Context, *tx, *Report) error
	}{
		{"counts", countBooks},
		{"messages", messageBooks},
		{"shared bodies", sharedBooks},
		{"leases", leaseBooks},
		{"history", eventBooks},
		{"keys", keyBooks},
	} {
		err := l.snapshot(ctx, func(ctx context.Context, t *tx) error {
			if r.At.IsZero() {
				now, err := t.nowMicros(ctx)
				if err != nil {
					return err
				}
				r.At = fromMicros(now)
			}
			return c.run(ctx, t, &r)
		})
		if err != nil {
			return r, fmt.Errorf("compare %s: %w", c.name, err)
		}
	}
	if blobs != nil {
		if err := l.blobBooks(ctx, blobs, &r); err != nil {
			return r, fmt.Errorf("compare blobs: %w", err)
		}
	}
	slices.SortFunc(r.Differences, func(a, b Difference) int { return strings.Compare(a.Kind, b.Kind) })
	return r, nil
}

// differ notes a disagreement.
func (r *Report) differ(kind, sample string) {
	i := slices.IndexFunc(r.Differences, func(d Difference) bool { return d.Kind == kind })
	if i < 0 {
		i = len(r.Differences)
		r.Differences = append(r.Differences, Difference{Kind: kind})
	}
	d := &r.Differences[i]
	d.Count++
	if len(d.Samples) < 10 {
		d.Samples = append(d.Samples, sample)
	}
}

// idSlices walks a table by its primary key: fn gets ranges lo < id <= hi of
// bookSlice rows, and a last one without end.
func (t *tx) idSlices(ctx context.Context, table string, fn func(lo, hi []byte) error) error {
	var lo postledger.ID
	for {
		ids, err := t.ids(ctx, `SELECT id FROM `+table+` WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?`, lo[:], bookSlice-1)
		if err != nil {
			return err
		}
		hi := lastID
		if len(ids) == 1 {
			hi = ids[0]
		}
		if err := fn(lo[:], hi[:]); err != nil || len(ids) == 0 {
			return err
		}
		lo = hi
	}
}

// differIDs notes every id that a query finds.
func (t *tx) differIDs(ctx context.Context, r *Report, kind, query string, args ...any) error {
	ids, err := t.ids(ctx, query, args...)
	for _, id := range ids {
		r.differ(kind, id.String())
	}
	return err
}
