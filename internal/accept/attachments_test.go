package accept_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/ledger"
)

// streams are the parts of one body: each can be opened only after the one
// ahead of it was read to its end and closed, as the parts of a multipart are.
type streams struct {
	t      *testing.T
	opened int
	closed int
}

func (s *streams) next(content string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		if s.opened != s.closed {
			s.t.Error("opened before the one ahead was closed")
		}
		s.opened++
		return &part{s: s, r: strings.NewReader(content)}, nil
	}
}

type part struct {
	s *streams
	r *strings.Reader
}

func (p *part) Read(b []byte) (int, error) { return p.r.Read(b) }

func (p *part) Close() error {
	p.s.closed++
	return nil
}

func stream(open func() (io.ReadCloser, error)) accept.Attachment {
	return accept.Attachment{Name: "week.pdf", ContentType: "application/pdf", Open: open}
}

func brokenStream(err error) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(err)), nil }
}

func TestAttachmentsAreStored(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		parts := &streams{t: t}
		r := good()
		r.Key = "k"
		r.Attachments = []accept.Attachment{stream(parts.next("abc")), stream(parts.next("")), file(declared)[0], file(invitation)[0]}
		rec, m, _ := w.accepted(r)
		equal(t, "streams read", parts.closed, 2)
		if len(m.Content.Attachments) != 4 {
			t.Fatalf("attachments: %+v", m.Content.Attachments)
		}
		var keys []string
		for i, a := range m.Content.Attachments {
			keys = append(keys, fmt.Sprintf("%s/%s/%d", w.caller.App, rec.MessageID, i))
			equal(t, "key", a.Blob, keys[i])
			equal(t, "disposition", a.Disposition, "attachment")
			rc, err := w.blobs.Open(t.Context(), a.Blob)
			must(t, err)
			content, err := io.ReadAll(rc)
			must(t, err)
			must(t, rc.Close())
			equal(t, "size", int(a.Size), len(content))
			equal(t, "content", string(content), map[bool]string{true: "", false: "abc"}[i == 1])
		}
		equal(t, "sum", m.Content.Attachments[0].SHA256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
		equal(t, "method", m.Content.Attachments[3].Method, "REQUEST")
		sameList(t, "blobs", w.blobKeys(), keys)

		// A known key answers without reading the streams.
		again := good()
		again.Key = "k"
		never := func() (io.ReadCloser, error) { t.Error("opened for a replay"); return nil, io.EOF }
		again.Attachments = []accept.Attachment{stream(never), stream(never), file(declared)[0], file(invitation)[0]}
		replay, err := w.Accept(t.Context(), w.caller, again)
		must(t, err)
		equal(t, "replayed", replay.Replayed && replay.MessageID == rec.MessageID, true)
		again.Attachments[0].Name = "other.pdf"
		_, err = w.Accept(t.Context(), w.caller, again)
		refused(t, err, accept.CodeMismatch)
		sameList(t, "blobs", w.blobKeys(), keys)
	})
}

// Invariant 2: a refused request leaves no row and no blob, wherever it fails.
func TestARefusedUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		limit := int64(4)
		w.reconfigure(func(c *postledger.ProfileConfig) { c.MaxAttachmentBytes = limit })
		before := w.rows()
		size := func(n int64) *int64 { return &n }
		for name, tt := range map[string]struct {
			second accept.Attachment
			want   string
		}{
			"too large together":  {stream((&streams{t: t}).next("de")), "attachments_too_large"},
			"too large, declared": {accept.Attachment{Name: "a", Size: size(2), Open: func() (io.ReadCloser, error) { t.Error("read although it was too large"); return nil, io.EOF }}, "attachments_too_large"},
			"another size":        {accept.Attachment{Name: "a", Size: size(0), Open: (&streams{t: t}).next("d")}, "attachments[1].size mismatch"},
			"another sum":         {accept.Attachment{Name: "a", SHA256: strings.Repeat("0", 64), Open: (&streams{t: t}).next("d")}, "attachments[1].sha256 mismatch"},
			"a broken stream":     {stream(brokenStream(io.ErrUnexpectedEOF)), "attachments[1].content mismatch"},
			"no stream":           {stream(func() (io.ReadCloser, error) { return nil, io.EOF }), "attachments[1].content mismatch"},
		} {
			r := good()
			r.Key = "k"
			r.Attachments = []accept.Attachment{stream((&streams{t: t}).next("abc")), tt.second}
			_, err := w.Accept(t.Context(), w.caller, r)
			var inv *accept.InvalidError
			got := string(accept.CodeOf(err))
			if errors.As(err, &inv) {
				got = inv.Problems[0].Field + " " + string(inv.Problems[0].Rule)
			}
			equal(t, name, got, tt.want)
			sameList(t, name+": blobs", w.blobKeys(), nil)
		}
		w.reconfigure(func(c *postledger.ProfileConfig) { c.QuotaPerDay = new(int64) })
		before["audit_events"]++ // the reconfiguration's own
		r := good()
		r.Attachments = []accept.Attachment{stream(func() (io.ReadCloser, error) { t.Error("read although the quota is used"); return nil, io.EOF })}
		_, err := w.Accept(t.Context(), w.caller, r)
		refused(t, err, accept.CodeQuota)
		equal(t, "rows", fmt.Sprint(w.rows()), fmt.Sprint(before))
	})
}

func TestStoredFilesAfterALateRefusal(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		r := func() *accept.Request {
			r := keyed("k")
			r.Attachments = file(nil)
			return r
		}
		down := errors.New("connection refused")
		s := w.service(&flaky{Ledger: w.ledger, fail: func(int64) error { return down }})
		_, err := s.Accept(t.Context(), w.caller, r())
		refused(t, err, accept.CodeUnavailable)
		sameList(t, "after a refusal", w.blobKeys(), nil)

		// Committed, and nobody knows: what is stored stays, and the key answers.
		s = w.service(&flaky{Ledger: w.ledger, lose: func(int64) error { return ledger.ErrFateUnknown }})
		_, err = s.Accept(t.Context(), w.caller, r())
		var u *accept.UnavailableError
		if !errors.As(err, &u) || !u.FateUnknown {
			t.Fatalf("got %v", err)
		}
		equal(t, "blobs of an unknown fate", len(w.blobKeys()), 1)
		rec, err := w.Accept(t.Context(), w.caller, r())
		must(t, err)
		equal(t, "message", rec.MessageID, u.MessageID)
		equal(t, "replayed", rec.Replayed, true)
		equal(t, "blobs", len(w.blobKeys()), 1)

		// Another process was faster with the key: ours is not needed.
		blind := w.service(blindLedger{w.ledger})
		rec, err = blind.Accept(t.Context(), w.caller, r())
		must(t, err)
		equal(t, "replayed late", rec.Replayed && rec.MessageID == u.MessageID, true)
		equal(t, "blobs", len(w.blobKeys()), 1)
	})
}

// blindLedger does not see keys before the transaction does, as when another
// process commits them in between.
type blindLedger struct{ accept.Ledger }

func (blindLedger) LookupKeys(context.Context, postledger.ID, []string, []string) (map[int]ledger.AcceptedItem, error) {
	return nil, nil
}

// failingStore fails as a store does.
type failingStore struct {
	accept.Blobs
	check, put error
	read       bool
}

func (f *failingStore) Check(context.Context) error { return f.check }

func (f *failingStore) Put(ctx context.Context, key string, r io.Reader, limit int64) (blob.Info, error) {
	f.read = true
	if _, err := f.Blobs.Put(ctx, key, r, limit); err != nil {
		return blob.Info{}, err
	}
	return blob.Info{}, f.put // stored, and the answer was lost
}

func TestAStoreThatFails(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		for _, tt := range []struct {
			check, put error
			want       accept.Code
		}{
			{fmt.Errorf("check: %w", blob.ErrFull), nil, accept.CodeStorageFull},
			{errors.New("no route to host"), nil, accept.CodeUnavailable},
			{nil, fmt.Errorf("put: %w", blob.ErrFull), accept.CodeStorageFull},
			{nil, errors.New("connection reset"), accept.CodeUnavailable},
		} {
			store := &failingStore{Blobs: w.blobs, check: tt.check, put: tt.put}
			s := w.service(w.ledger, func(c *accept.Config) { c.Blobs = store })
			r := good()
			r.Attachments = []accept.Attachment{{Name: "a", Data: bytes.Repeat([]byte("a"), 100)}}
			_, err := s.Accept(t.Context(), w.caller, r)
			refused(t, err, tt.want)
			equal(t, "read", store.read, tt.check == nil)
			sameList(t, "blobs", w.blobKeys(), nil)
		}
		if len(w.audits()) != 0 || !slices.Equal(w.blobKeys(), nil) {
			t.Error("a refusal left something")
		}
	})
}
