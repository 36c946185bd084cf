package accept_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
)

// commit sends a batch.
func (w *world) commit(head accept.BatchHead, rs ...*accept.Request) (accept.BatchReceipt, error) {
	w.t.Helper()
	b := w.NewBatch(w.caller, head)
	defer b.Discard()
	for _, r := range rs {
		if err := b.Add(w.t.Context(), r); err != nil {
			_, again := b.Commit(w.t.Context())
			if !errors.Is(again, err) {
				w.t.Errorf("Add says %v, Commit %v", err, again)
			}
			return accept.BatchReceipt{}, err
		}
	}
	return b.Commit(w.t.Context())
}

func TestBatch(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		with := keyed("k-0")
		with.Attachments = file(nil)
		plain := good()
		plain.Actor = postledger.Actor{Type: "user", ID: "u-1"}
		out, err := w.commit(accept.BatchHead{Actor: postledger.Actor{Type: "job", ID: "j-1"}}, with, plain, keyed("k-2"))
		must(t, err)
		equal(t, "items", len(out.Items), 3)
		for i, item := range out.Items {
			equal(t, "replayed", item.Replayed, false)
			equal(t, "batch", item.BatchID, out.BatchID)
			m, ds := w.read(item.MessageID)
			equal(t, "message's batch", m.BatchID, out.BatchID)
			equal(t, "lane", ds[0].Lane, postledger.LaneBulk)
			equal(t, "attachments", len(m.Content.Attachments), map[bool]int{true: 1}[i == 0])
			equal(t, "actor", m.Actor.Type, map[bool]string{true: "user", false: "job"}[i == 1])
		}
		equal(t, "keys in the request are the caller's", with.Key+string(with.Lane), "k-0")
		sameList(t, "woken", w.woke, []ledger.ClaimKey{{Profile: w.profile.ID, Lane: postledger.LaneBulk, App: w.caller.App}})
		audits := w.audits()
		equal(t, "lines of audit", len(audits), 1)
		equal(t, "audit", audits[0].Action+" "+audits[0].TargetType+" "+audits[0].TargetID, "batch.accept batch "+out.BatchID.String())

		// Known keys are replays, and the rest is new.
		with.Attachments = file(nil)
		next, err := w.commit(accept.BatchHead{Actor: postledger.Actor{Type: "job", ID: "j-1"}}, keyed("k-9"), with, keyed("k-2"))
		must(t, err)
		var got []bool
		for _, item := range next.Items {
			got = append(got, item.Replayed)
		}
		sameList(t, "replays", got, []bool{false, true, true})
		equal(t, "message", next.Items[2].MessageID, out.Items[2].MessageID)
		equal(t, "its batch", next.Items[2].BatchID, out.BatchID)
		equal(t, "messages", w.rows()["messages"], 4)
		equal(t, "blobs", len(w.blobKeys()), 1)

		// Only replays: nothing is written, not even a line of audit.
		rows := w.rows()
		all, err := w.commit(accept.BatchHead{Actor: postledger.Actor{Type: "job", ID: "j-1"}}, keyed("k-2"))
		must(t, err)
		equal(t, "batch of replays", all.BatchID.IsZero() && all.Items[0].Replayed, true)
		equal(t, "rows", fmt.Sprint(w.rows()), fmt.Sprint(rows))
	})
}

// Invariant 2: one message that cannot be accepted refuses all, whatever comes
// before or after it.
func TestABatchIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		_, err := w.Accept(t.Context(), w.caller, keyed("used"))
		must(t, err)
		before := w.rows()
		stored := good()
		stored.Attachments = file(nil)
		bad := good()
		bad.Subject, bad.To = "a\nb", []accept.Recipient{{Address: "x"}}
		other := keyed("used")
		other.Subject = "Week 13"
		otherWithFile := keyed("used")
		otherWithFile.Attachments = file(nil)
		elsewhere := good()
		elsewhere.Profile = "other"
		marketing := good()
		marketing.Category = postledger.CategoryMarketing
		late := good()
		late.Deadline.At = time.Now().Add(-time.Hour)
		own := good()
		own.MessageID = "<a@send.test>"
		big := good()
		big.Text = strings.Repeat("a", 9<<20)
		many := slices.Repeat([]*accept.Request{good()}, 1001)
		for name, tt := range map[string]struct {
			head accept.BatchHead
			list []*accept.Request
			want string
		}{
			"nothing":               {list: nil, want: "messages required"},
			"1,001":                 {list: many, want: "messages too_many"},
			"large":                 {list: []*accept.Request{big, big, big, big}, want: "messages too_large"},
			"two problems":          {list: []*accept.Request{stored, good(), bad}, want: "messages[2].to[0].address syntax, messages[2].subject control"},
			"another profile":       {list: []*accept.Request{stored, elsewhere}, want: "messages[1].profile not_allowed"},
			"immediate":             {list: []*accept.Request{{To: crowd(1), Text: "x", Lane: "immediate"}}, want: "messages[0].lane not_allowed"},
			"own Message-ID":        {list: []*accept.Request{own}, want: "messages[0].message_id not_allowed"},
			"a deadline has passed": {list: []*accept.Request{stored, late}, want: "messages[1].deadline range"},
			"marketing":             {list: []*accept.Request{stored, marketing}, want: "category_needs_consent"},
			"one key twice":         {list: []*accept.Request{stored, keyed("n"), good(), keyed("n")}, want: "idempotency_mismatch messages[1] and messages[3] have the same idempotency key"},
			"a derived key twice":   {head: accept.BatchHead{Key: "h"}, list: []*accept.Request{keyed("h#1"), good()}, want: "idempotency_mismatch messages[0] and messages[1] have the same idempotency key"},
			"a key of another":      {list: []*accept.Request{stored, other}, want: "idempotency_mismatch 1"},
			"a key of another file": {list: []*accept.Request{stored, otherWithFile}, want: "idempotency_mismatch 1"},
			"unknown profile":       {head: accept.BatchHead{Profile: "nope"}, list: []*accept.Request{good()}, want: "profile_unknown"},
			"profile's name":        {head: accept.BatchHead{Profile: "a\nb"}, list: []*accept.Request{good()}, want: "profile control"},
		} {
			_, err := w.commit(tt.head, tt.list...)
			equal(t, name, describe(err), tt.want)
			equal(t, name+": rows", fmt.Sprint(w.rows()), fmt.Sprint(before))
			sameList(t, name+": blobs", w.blobKeys(), nil)
		}
		b := w.NewBatch(w.caller, accept.BatchHead{})
		must(t, b.Add(t.Context(), stored))
		equal(t, "stored", len(w.blobKeys()), 1)
		b.Discard()
		sameList(t, "discarded", w.blobKeys(), nil)
		if _, err := b.Commit(t.Context()); err == nil {
			t.Error("committed after it was discarded")
		}
		if b := w.NewBatch(w.caller, accept.BatchHead{}); true {
			must(t, b.Add(t.Context(), good()))
			_, err := b.Commit(t.Context())
			must(t, err)
			if _, err := b.Commit(t.Context()); err == nil {
				t.Error("committed twice")
			}
		}
	})
}

// describe is a refusal in short.
func describe(err error) string {
	var inv *accept.InvalidError
	var mm *accept.MismatchError
	switch {
	case errors.As(err, &inv):
		var out []string
		for _, p := range inv.Problems {
			out = append(out, p.Field+" "+string(p.Rule))
		}
		return strings.Join(out, ", ")
	case errors.As(err, &mm) && mm.Other >= 0:
		return string(mm.Code()) + " " + mm.Error()
	case errors.As(err, &mm):
		return fmt.Sprint(mm.Code(), " ", mm.Index)
	case accept.CodeOf(err) != "":
		return string(accept.CodeOf(err))
	default:
		return fmt.Sprint(err)
	}
}

// A batch's own key stands for all of it.
func TestABatchUnderOneKey(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		head := accept.BatchHead{Key: "night"}
		second := good()
		second.Subject = "Week 13"
		second.Attachments = file(nil)
		first, err := w.commit(head, good(), second)
		must(t, err)
		again, err := w.commit(head, good(), second)
		must(t, err)
		for i := range again.Items {
			equal(t, "replayed", again.Items[i].Replayed, true)
			equal(t, "message", again.Items[i].MessageID, first.Items[i].MessageID)
		}
		for name, list := range map[string][]*accept.Request{
			"fewer":        {good()},
			"more":         {good(), second, good()},
			"another last": {good(), good()},
		} {
			_, err := w.commit(head, list...)
			equal(t, name, describe(err), "idempotency_mismatch 0")
		}
		equal(t, "messages", w.rows()["messages"], 2)
		equal(t, "blobs", len(w.blobKeys()), 1)
	})
}

func TestProblemsOfABatchAreBounded(t *testing.T) {
	t.Parallel()
	w := &world{t: t}
	b := w.service(&scripted{}).NewBatch(accept.Caller{}, accept.BatchHead{})
	n := 0
	var err error
	for ; err == nil; n++ {
		err = b.Add(t.Context(), &accept.Request{})
	}
	var inv *accept.InvalidError
	if !errors.As(err, &inv) || len(inv.Problems) != accept.MaxProblems || n != 25 {
		t.Errorf("after %d messages: %v", n, err)
	}
}

func TestBacklogRefusesBatchesOnly(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		w.reconfigure(func(c *postledger.ProfileConfig) { c.PacePerMinute = 1 }) // 1,440 a day
		for range 28 {
			r := good()
			r.To = crowd(50)
			w.accepted(r)
		}
		_, err := w.commit(accept.BatchHead{}, good()) // 1,400 wait
		must(t, err)
		r := good()
		r.To = crowd(40)
		w.accepted(r) // 1,441 wait
		_, err = w.commit(accept.BatchHead{}, good())
		refused(t, err, accept.CodeBacklog)
		w.accepted(good())
		w.reconfigure(func(c *postledger.ProfileConfig) { c.PacePerMinute = 2 })
		_, err = w.commit(accept.BatchHead{}, good())
		must(t, err)

		s := w.service(w.ledger, func(c *accept.Config) { c.MaxWaiting = 1443 })
		_, err = s.Accept(t.Context(), w.caller, good()) // 1,443 wait
		must(t, err)
		_, err = s.Accept(t.Context(), w.caller, good())
		refused(t, err, accept.CodeOverloaded)
	})
}
