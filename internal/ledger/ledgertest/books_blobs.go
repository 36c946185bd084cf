package ledgertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// blobs is a store that a test fills.
type blobs map[string]time.Time

func (b blobs) list(_ context.Context, prefix, after string, limit int) ([]ledger.StoredBlob, error) {
	var out []ledger.StoredBlob
	for k, at := range b {
		if strings.HasPrefix(k, prefix) && k > after {
			out = append(out, ledger.StoredBlob{Key: k, Modified: at})
		}
	}
	slices.SortFunc(out, func(a, b ledger.StoredBlob) int { return strings.Compare(a.Key, b.Key) })
	return out[:min(limit, len(out))], nil
}

// withAttachments gives the message n attachments and notes their keys.
func withAttachments(n int, keys *[]string) Option {
	return func(m *ledger.NewMessage) {
		for i := range n {
			key := fmt.Sprintf("%s/%s/%d", m.Message.AppID, m.Message.ID, i)
			m.Content.Attachments = append(m.Content.Attachments, postledger.Attachment{Name: "a.pdf", ContentType: "application/pdf", Size: 3, Blob: key})
			*keys = append(*keys, key)
		}
	}
}

func booksBlobs(t *testing.T, open Opener, exec Exec) {
	w := NewWorld(t, open)
	ctx := t.Context()
	store := blobs{}
	var keys []string
	for range 3 {
		w.Send([]string{"a@x.example"}, withAttachments(3, &keys))
	}
	for _, k := range keys {
		store[k] = time.Now().Add(-90 * time.Hour)
	}
	kinds := func() string {
		t.Helper()
		r, err := w.Books(ctx, store.list)
		must(t, err)
		return fmt.Sprint(r.Differences)
	}
	if got := kinds(); got != "[]" {
		t.Fatalf("all there: %s", got)
	}
	young := fmt.Sprintf("%s/%s/0", w.App.ID, w.NewID())
	store[young] = time.Now().Add(-47 * time.Hour)
	if got := kinds(); got != "[]" {
		t.Fatalf("a young orphan: %s", got)
	}
	store[young] = time.Now().Add(-49 * time.Hour)
	if got, want := kinds(), fmt.Sprintf("[{%s 1 [%s]}]", ledger.DiffBlobOrphan, young); got != want {
		t.Fatalf("an old orphan: %s, want %s", got, want)
	}
	must(t, w.TrashBlobs(ctx, []string{young, keys[8]}, time.Now().Add(-time.Second)))
	if got := kinds(); got != "[]" {
		t.Fatalf("an orphan that is to be deleted: %s", got)
	}
	// What is still referred to is never deleted, whoever noted it.
	due, err := w.TrashDue(ctx, 10)
	must(t, err)
	if !slices.Equal(due, []string{young}) {
		t.Fatalf("due %v", due)
	}
	must(t, w.ForgetTrash(ctx, due))
	delete(store, young)
	delete(store, keys[4])
	if got, want := kinds(), fmt.Sprintf("[{%s 1 [%s]}]", ledger.DiffBlobLost, keys[4]); got != want {
		t.Fatalf("a lost one: %s, want %s", got, want)
	}
	exec(t, w.Ledger, `UPDATE contents SET attachments = ''`)
	r, err := w.Books(ctx, store.list)
	must(t, err)
	if len(r.Differences) != 1 || r.Differences[0].Kind != ledger.DiffBlobOrphan || r.Differences[0].Count != 8 {
		t.Fatalf("references lost: %+v", r.Differences)
	}
}
