package ledgertest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// List: the lists of deliveries and messages, cases B54 and B58, invariant 18.
func List(t *testing.T, open Opener) {
	t.Run("pages", func(t *testing.T) { listPages(t, open) })
	t.Run("cursors", func(t *testing.T) { listCursors(t, open) })
	t.Run("filters", func(t *testing.T) { listFilters(t, open) })
	t.Run("refused", func(t *testing.T) { listRefused(t, open) })
	t.Run("wildcards", func(t *testing.T) { listWildcards(t, open) })
	t.Run("totals", func(t *testing.T) { listTotals(t, open) })
	t.Run("message", func(t *testing.T) { listMessage(t, open) })
	t.Run("selections", func(t *testing.T) { listSelections(t, open) })
	t.Run("stats", func(t *testing.T) { listStats(t, open) })
}

// batch accepts n messages as one, so that all have one created_at.
func (w *World) batch(n int, opts ...Option) []ledger.NewMessage {
	w.T.Helper()
	ms := make([]ledger.NewMessage, n)
	for i := range ms {
		ms[i] = w.Message([]string{fmt.Sprintf("r%03d@x.example", i)}, opts...)
	}
	_, err := w.Accept(w.T.Context(), w.Request(ms...))
	must(w.T, err)
	return ms
}

// listPages: case B54. One created_at, pages of 10 there and back, a row
// inserted in between.
func listPages(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	batch := w.NewID()
	ms := w.batch(25, withBatch(batch))
	var deliveries, messages []postledger.ID
	for _, m := range ms {
		deliveries, messages = append(deliveries, m.Deliveries[0].ID), append(messages, m.Message.ID)
	}
	slices.Reverse(deliveries)
	slices.Reverse(messages)
	readD := func(f ledger.Filter) func(string) ([]postledger.ID, string, string) {
		return func(cursor string) ([]postledger.ID, string, string) {
			p, err := w.Deliveries(t.Context(), f, ledger.Paging{Limit: 10, Cursor: cursor})
			must(t, err)
			ids := make([]postledger.ID, len(p.Items))
			for i := range ids {
				ids[i] = p.Items[i].ID
			}
			return ids, p.Next, p.Prev
		}
	}
	readM := func(f ledger.Filter) func(string) ([]postledger.ID, string, string) {
		return func(cursor string) ([]postledger.ID, string, string) {
			p, err := w.Messages(t.Context(), f, ledger.Paging{Limit: 10, Cursor: cursor})
			must(t, err)
			ids := make([]postledger.ID, len(p.Items))
			for i := range ids {
				ids[i] = p.Items[i].ID
			}
			return ids, p.Next, p.Prev
		}
	}
	app := ledger.Filter{App: w.App.ID}
	since := ledger.Filter{App: w.App.ID, Lane: postledger.LaneImmediate, Since: time.Now().Add(-time.Hour)}
	for _, c := range []struct {
		name string
		read func(string) ([]postledger.ID, string, string)
		want []postledger.ID
	}{
		{"deliveries with a rest", readD(since), deliveries},
		{"deliveries of a batch", readD(ledger.Filter{App: w.App.ID, Batch: batch}), deliveries},
		{"deliveries of all", readD(ledger.Filter{}), deliveries},
		{"deliveries of several states", readD(ledger.Filter{Statuses: []postledger.Status{postledger.StatusQueued, postledger.StatusSent}}), deliveries},
		{"messages of the app", readM(app), messages},
		{"messages of a batch", readM(ledger.Filter{Batch: batch}), messages},
		{"messages in a state", readM(ledger.Filter{App: w.App.ID, Statuses: []postledger.Status{postledger.StatusQueued}}), messages},
		// The last: rows are inserted between its pages.
		{inserting, readD(app), deliveries},
	} {
		name := c.name
		one, next, prev := c.read("")
		if prev != "" || !slices.Equal(one, c.want[:10]) {
			t.Fatalf("%s: first page %v, prev %q", name, one, prev)
		}
		if name == inserting {
			// Newer rows do not move what follows.
			for range 3 {
				id := w.Send([]string{"new@x.example"}, withBatch(w.NewID()))[0]
				deliveries = append([]postledger.ID{id}, deliveries...)
			}
		}
		two, next2, prev2 := c.read(next)
		three, next3, prev3 := c.read(next2)
		if got := slices.Concat(one, two, three); !slices.Equal(got, c.want) || next3 != "" {
			t.Fatalf("%s: forward %v\nwant %v\nnext %q", name, got, c.want, next3)
		}
		back2, _, backPrev := c.read(prev3)
		back1, _, _ := c.read(backPrev)
		if !slices.Equal(back2, two) || !slices.Equal(back1, one) {
			t.Fatalf("%s: back\n%v\n%v\nwant\n%v\n%v", name, back2, back1, two, one)
		}
		if again, _, _ := c.read(prev2); !slices.Equal(again, one) {
			t.Fatalf("%s: back from the second page %v", name, again)
		}
		// Beyond the newest: what came meanwhile, then nothing, then back.
		_, _, newer := c.read(prev2)
		for newer != "" {
			_, _, newer = c.read(newer)
		}
	}
	// The page before the first holds what was inserted, and is the first now.
	_, next, _ := readD(app)("")
	_, _, prev := readD(app)(next)
	got, _, prev := readD(app)(prev)
	if prev != "" || !slices.Equal(got, deliveries[:10]) {
		t.Fatalf("back to the start %v, prev %q", got, prev)
	}
}

const inserting = "deliveries of the app"

func withBatch(id postledger.ID) Option {
	return func(m *ledger.NewMessage) { m.Message.BatchID = id }
}

func withRef(scope, id string) Option {
	return func(m *ledger.NewMessage) { m.Message.RefScope, m.Message.RefID = scope, id }
}

func listCursors(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	w.batch(3)
	f := ledger.Filter{App: w.App.ID}
	page, err := w.Deliveries(ctx, f, ledger.Paging{Limit: 1})
	must(t, err)
	raw, err := base64.RawURLEncoding.DecodeString(page.Next)
	must(t, err)
	other := slices.Clone(raw)
	other[0]++
	for name, cursor := range map[string]string{
		"empty bytes": "AA", "not base64": "???", "padded": page.Next + "=",
		"short":         base64.RawURLEncoding.EncodeToString(raw[:len(raw)-1]),
		"other version": base64.RawURLEncoding.EncodeToString(other),
	} {
		if _, err := w.Deliveries(ctx, f, ledger.Paging{Limit: 1, Cursor: cursor}); !errors.Is(err, ledger.ErrBadCursor) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = w.Messages(ctx, f, ledger.Paging{Limit: 1, Cursor: page.Next})
	wantErr(t, err, ledger.ErrBadCursor)
	_, err = w.Deliveries(ctx, ledger.Filter{App: w.App.ID, Lane: postledger.LaneBulk}, ledger.Paging{Limit: 1, Cursor: page.Next})
	wantErr(t, err, ledger.ErrCursorFilter)
	// The same filter said otherwise is the same filter.
	zone := time.FixedZone("x", 3600)
	at := time.Now().Add(-time.Hour)
	a := ledger.Filter{App: w.App.ID, Since: at.UTC(), Statuses: []postledger.Status{postledger.StatusSent, postledger.StatusQueued}}
	b := ledger.Filter{App: w.App.ID, Since: at.In(zone), Statuses: []postledger.Status{postledger.StatusQueued, postledger.StatusSent, postledger.StatusQueued}}
	page, err = w.Deliveries(ctx, a, ledger.Paging{Limit: 1})
	must(t, err)
	_, err = w.Deliveries(ctx, b, ledger.Paging{Limit: 1, Cursor: page.Next})
	must(t, err)
}

func listRefused(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	now := time.Now()
	one := ledger.Paging{Limit: 1}
	tooMany := make([]postledger.ID, 1001)
	for i := range tooMany {
		tooMany[i] = w.NewID()
	}
	for name, f := range map[string]ledger.Filter{
		"contains without an app":     {Contains: "x", Since: now.Add(-time.Hour), Until: now},
		"contains without a span":     {App: w.App.ID, Contains: "x"},
		"contains over 32 days":       {App: w.App.ID, Contains: "x", Since: now.Add(-32 * 24 * time.Hour), Until: now},
		"domain without an app":       {Domain: "x.example", Since: now.Add(-time.Hour), Until: now},
		"a reference without the app": {RefID: "r"},
	} {
		if _, err := w.Deliveries(t.Context(), f, one); !errors.Is(err, ledger.ErrFilterTooBroad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for field, f := range map[string]ledger.Filter{
		"ids":       {IDs: tooMany},
		"lane":      {Lane: "fast"},
		"status":    {Statuses: []postledger.Status{"lost"}},
		"ref_scope": {RefScope: "order"},
		"since":     {Since: now, Until: now},
		"prefix":    {Prefix: "x"},
	} {
		var fe *ledger.FilterError
		if _, err := w.Deliveries(t.Context(), f, one); !errors.As(err, &fe) || fe.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	var fe *ledger.FilterError
	for _, limit := range []int{0, -1, 1001} {
		if _, err := w.Messages(t.Context(), ledger.Filter{}, ledger.Paging{Limit: limit}); !errors.As(err, &fe) || fe.Field != "limit" {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if _, err := w.Messages(t.Context(), ledger.Filter{App: w.App.ID, Contains: "x", Since: now.Add(-time.Hour), Until: now}, one); !errors.As(err, &fe) {
		t.Errorf("contains in messages: %v", err)
	}
	for range 67 {
		w.newApp(w.NewID().String())
	}
	f := ledger.Filter{Statuses: []postledger.Status{postledger.StatusFailed, postledger.StatusSent, postledger.StatusCanceled}}
	if _, err := w.Deliveries(t.Context(), f, one); !errors.Is(err, ledger.ErrFilterTooBroad) {
		t.Errorf("three states of 68 apps: %v", err)
	}
	f.Statuses = f.Statuses[:2]
	if _, err := w.Deliveries(t.Context(), f, one); err != nil {
		t.Errorf("two states of 68 apps: %v", err)
	}
}

// listTotals: exact up to 10,000, and no further.
func listTotals(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	to := make([]string, 50)
	for i := range to {
		to[i] = fmt.Sprintf("r%d@x.example", i)
	}
	fill := func(n int) {
		var ms []ledger.NewMessage
		for range n {
			ms = append(ms, w.Message(to, withRef("", "ref")))
		}
		_, err := w.Accept(t.Context(), w.Request(ms...))
		must(t, err)
	}
	want := func(f ledger.Filter, n int, more bool) {
		t.Helper()
		p, err := w.Deliveries(t.Context(), f, ledger.Paging{Limit: 1, Total: true})
		must(t, err)
		if p.Total == nil || p.Total.N != n || p.Total.More != more {
			t.Errorf("%+v: total %+v, want %d, %v", f, p.Total, n, more)
		}
	}
	app := ledger.Filter{App: w.App.ID}
	ref := ledger.Filter{App: w.App.ID, RefID: "ref"}
	lane := ledger.Filter{App: w.App.ID, Lane: postledger.LaneImmediate}
	bulk := ledger.Filter{App: w.App.ID, Lane: postledger.LaneBulk}
	fill(200)
	for _, f := range []ledger.Filter{app, ref, lane, {}} {
		want(f, 10_000, false)
	}
	want(bulk, 0, false)
	want(ledger.Filter{App: w.App.ID, Recipient: "r7@x.example"}, 200, false)
	want(ledger.Filter{App: w.App.ID, Prefix: "r7@"}, 200, false)
	fill(1)
	for _, f := range []ledger.Filter{app, ref, lane, {}} {
		want(f, 10_000, true)
	}
	p, err := w.Messages(t.Context(), app, ledger.Paging{Limit: 1, Total: true})
	must(t, err)
	if p.Total.N != 201 || p.Total.More {
		t.Errorf("messages: %+v", p.Total)
	}
	if _, err := w.Deliveries(t.Context(), ledger.Filter{Prefix: "r1"}, ledger.Paging{Limit: 1}); err != nil {
		t.Errorf("a prefix of 2,211: %v", err)
	}
}
