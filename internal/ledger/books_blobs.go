package ledger

import (
	"context"
	"database/sql"
	"slices"

	"github.com/postledger/postledger"
)

// blobPage is how many blobs one listing of the store brings.
const blobPage = 1000

// blobBooks compares references with the blob store, both ways. The store has
// no snapshots: what seems lost or left is looked up again in the ledger
// afterwards, since a purge takes the reference first and the blob later, and
// an upload brings the blob first.
func (l *Ledger) blobBooks(ctx context.Context, list BlobLister, r *Report) error {
	now, err := l.Now(ctx)
	if err != nil {
		return err
	}
	if err := l.lostBlobs(ctx, list, r); err != nil {
		return err
	}
	after := ""
	for {
		page, err := list(ctx, "", after, blobPage)
		if err != nil {
			return err
		}
		var old []string
		for _, b := range page {
			if now.Sub(b.Modified) > OrphanAge {
				old = append(old, b.Key)
			}
		}
		orphans, err := l.orphans(ctx, old)
		if err != nil {
			return err
		}
		for _, k := range orphans {
			r.differ(DiffBlobOrphan, k)
		}
		if len(page) < blobPage {
			return nil
		}
		after = page[len(page)-1].Key
	}
}

// lostBlobs walks the contents that have attachments and asks the store for
// each message's blobs.
func (l *Ledger) lostBlobs(ctx context.Context, list BlobLister, r *Report) error {
	var after postledger.ID
	for {
		var missing, keys []string
		n := 0
		t := l.read()
		if err := t.each(ctx, func(rows *sql.Rows) error {
			var text string
			if err := rows.Scan(&after, &text); err != nil {
				return err
			}
			n++
			blobs, err := blobKeys(text)
			keys = append(keys, blobs...)
			return err
		}, `SELECT message_id, attachments FROM contents WHERE message_id > ? ORDER BY message_id LIMIT ?`, after[:], blobPage); err != nil {
			return err
		}
		for len(keys) > 0 {
			// A message's keys stand together, and share their prefix.
			prefix := keys[0][:len(keys[0])-len(lastSegment(keys[0]))]
			have, err := storedUnder(ctx, list, prefix)
			if err != nil {
				return err
			}
			for len(keys) > 0 && keys[0][:len(keys[0])-len(lastSegment(keys[0]))] == prefix {
				if !have[keys[0]] {
					missing = append(missing, keys[0])
				}
				keys = keys[1:]
			}
		}
		still, err := l.ReferencedBlobs(ctx, missing)
		if err != nil {
			return err
		}
		for _, k := range missing {
			if still[k] {
				r.differ(DiffBlobLost, k)
			}
		}
		if n < blobPage {
			return nil
		}
	}
}

// lastSegment is what follows the last slash.
func lastSegment(key string) string {
	for i := len(key) - 1; i >= 0; i-- {
		if key[i] == '/' {
			return key[i+1:]
		}
	}
	return key
}

// storedUnder is one message's blobs: at most 50.
func storedUnder(ctx context.Context, list BlobLister, prefix string) (map[string]bool, error) {
	page, err := list(ctx, prefix, "", blobPage)
	have := make(map[string]bool, len(page))
	for _, b := range page {
		have[b.Key] = true
	}
	return have, err
}

// orphans are the keys that nothing refers to and nobody is to delete yet.
func (l *Ledger) orphans(ctx context.Context, keys []string) ([]string, error) {
	kept, err := l.ReferencedBlobs(ctx, keys)
	if err != nil {
		return nil, err
	}
	t := l.read()
	for chunk := range slices.Chunk(keys, blobChunk) {
		list, args := in(nil, chunk)
		if err := t.each(ctx, func(rows *sql.Rows) error {
			var k string
			err := rows.Scan(&k)
			kept[k] = true
			return err
		}, `SELECT key FROM blob_trash WHERE key IN `+list, args...); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return kept[k] }), nil
}
