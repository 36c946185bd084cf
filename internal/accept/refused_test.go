package accept_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// Invariant 2: whatever is wrong with a request, and wherever accepting it
// fails, it leaves no row and no blob; and what is accepted has all of them.
func TestRefusedRequestsLeaveNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"))
	quota := int64(60)
	w.reconfigure(func(c *postledger.ProfileConfig) { c.QuotaPerDay, c.MaxAttachmentBytes = &quota, 8 })
	down := errors.New("connection refused")
	flaw := rapid.SampledFrom([]string{"", "", "", "", "address", "subject", "twice", "html", "profile", "deadline", "size", "stream", "ledger", "key"})
	if _, err := w.Accept(t.Context(), w.caller, keyed("used")); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		failing := false
		draw := func() *accept.Request {
			r := good()
			r.To = crowd(rapid.IntRange(1, 12).Draw(rt, "recipients"))
			for range rapid.IntRange(0, 3).Draw(rt, "files") {
				r.Attachments = append(r.Attachments, accept.Attachment{Name: "a", Data: []byte(strings.Repeat("a", rapid.IntRange(0, 4).Draw(rt, "bytes")))})
			}
			switch flaw.Draw(rt, "flaw") {
			case "address":
				r.To[0].Address = "x"
			case "subject":
				r.Subject = "a\r\nb"
			case "twice":
				r.Cc = r.To[:1]
			case "html":
				r.Text, r.HTML = "", "<script></script>"
			case "profile":
				r.Profile = "nope"
			case "deadline":
				r.Deadline.At = r.Deadline.At.AddDate(1000, 0, 0)
			case "size":
				size := int64(1)
				r.Attachments = append(r.Attachments, accept.Attachment{Name: "a", Size: &size, Open: (&streams{t: t}).next("")})
			case "stream":
				r.Attachments = append(r.Attachments, stream(brokenStream(down)))
			case "ledger":
				failing = true
			case "key":
				r.Key = "used"
			}
			return r
		}
		rows, blobs := w.rows(), len(w.blobKeys())
		var messages []*accept.Request
		var err error
		if rapid.Bool().Draw(rt, "batch") {
			n := rapid.IntRange(1, 4).Draw(rt, "messages")
			for range n {
				messages = append(messages, draw())
			}
		} else {
			messages = append(messages, draw())
		}
		s := w.service(&flaky{Ledger: w.ledger, fail: func(int64) error {
			if failing {
				return down
			}
			return nil
		}})
		if len(messages) == 1 {
			_, err = s.Accept(t.Context(), w.caller, messages[0])
		} else {
			b := s.NewBatch(w.caller, accept.BatchHead{})
			for _, r := range messages {
				if err = b.Add(t.Context(), r); err != nil {
					break
				}
			}
			if err == nil {
				_, err = b.Commit(t.Context())
			}
			b.Discard()
		}
		if err != nil {
			if accept.CodeOf(err) == "" {
				rt.Fatalf("a refusal without a code: %v", err)
			}
			if got := w.rows(); fmt.Sprint(got) != fmt.Sprint(rows) {
				rt.Fatalf("refused with %v, and rows went from %v to %v", err, rows, got)
			}
			if got := len(w.blobKeys()); got != blobs {
				rt.Fatalf("refused with %v, and blobs went from %d to %d", err, blobs, got)
			}
			return
		}
		for _, r := range messages {
			rows["messages"]++
			rows["contents"]++
			rows["deliveries"] += len(r.To)
			blobs += len(r.Attachments)
		}
		got := w.rows()
		for _, table := range []string{"messages", "contents", "deliveries"} {
			if got[table] != rows[table] {
				rt.Fatalf("accepted, and %s has %d rows, want %d", table, got[table], rows[table])
			}
		}
		if got["audit_events"] != rows["audit_events"]+1 {
			rt.Fatalf("accepted, and the audit trail has %d rows more", got["audit_events"]-rows["audit_events"])
		}
		if n := len(w.blobKeys()); n != blobs {
			rt.Fatalf("accepted, and there are %d blobs, want %d", n, blobs)
		}
	})
}
