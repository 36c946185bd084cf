package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// known is a delivery as the test knows it.
type known struct {
	id, message, app, profile, batch postledger.ID
	status                           postledger.Status
	lane                             postledger.Lane
	scope, ref, address              string
}

func (k *known) fits(f ledger.Filter) bool {
	in := func(id, want postledger.ID) bool { return want.IsZero() || id == want }
	return in(k.app, f.App) && in(k.profile, f.Profile) && in(k.message, f.Message) && in(k.batch, f.Batch) &&
		(len(f.IDs) == 0 || slices.Contains(f.IDs, k.id)) &&
		(len(f.Statuses) == 0 || slices.Contains(f.Statuses, k.status)) &&
		(f.RefID == "" || k.scope == f.RefScope && k.ref == f.RefID) &&
		(f.Lane == "" || f.Lane == k.lane) &&
		(f.Recipient == "" || f.Recipient == k.address) &&
		(f.Domain == "" || strings.HasSuffix(k.address, "@"+f.Domain)) &&
		strings.HasPrefix(k.address, f.Prefix) && strings.Contains(k.address, f.Contains)
}

// listFilters: each filter, alone and with others, brings exactly the rows
// that a look at every row finds (invariant 18 for the app).
func listFilters(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	other := w.newApp("other")
	must(t, w.PutGrant(ctx, postledger.Grant{AppID: other.ID, ProfileID: w.Profile.ID}, w.did("grant.put")))
	batch := w.NewID()
	var all []known
	add := func(app postledger.ID, to []string, opts ...Option) {
		m := w.Message(to, opts...)
		m.Message.AppID = app
		for i := range m.Deliveries {
			d := &m.Deliveries[i]
			d.AppID = app
			all = append(all, known{
				d.ID, m.Message.ID, app, w.Profile.ID, m.Message.BatchID, postledger.StatusQueued,
				m.Message.Lane, m.Message.RefScope, m.Message.RefID, d.AddressFolded,
			})
		}
		r := w.Request(m)
		r.AppID = app
		_, err := w.Accept(ctx, r)
		must(t, err)
	}
	for i := range 12 {
		app := []postledger.ID{w.App.ID, other.ID}[i%2]
		add(app, []string{"mira@x.example", fmt.Sprintf("n%d@y.example", i)}, withRef("order", "7"))
		add(app, []string{"mirabell@sub.x.example"}, withBatch(batch), WithLane(postledger.LaneBulk))
		add(app, []string{fmt.Sprintf("mira@%d.example", i)}, withRef("", "7"))
	}
	settle := func(i int, to postledger.Status) {
		k := &all[i]
		w.MustSettle(ledger.Settlement{ID: k.id, Fence: ledger.AnyFence, Mover: postledger.MoverSweep, To: to})
		k.status = to
	}
	for i := range all {
		switch i % 5 {
		case 1:
			settle(i, postledger.StatusCanceled)
		case 2:
			settle(i, postledger.StatusSuppressed)
		case 3:
			k := &all[i]
			w.MustSettle(ledger.Settlement{ID: k.id, Fence: ledger.AnyFence, Mover: postledger.MoverRecovery, To: postledger.StatusUnconfirmed})
			k.status = postledger.StatusUnconfirmed
		}
	}
	slices.SortFunc(all, func(a, b known) int { return slices.Compare(b.id[:], a.id[:]) })

	some := []postledger.ID{all[3].id, all[9].id, all[20].id, w.NewID()}
	parts := []ledger.Filter{
		{},
		{Profile: w.Profile.ID},
		{Profile: w.NewID()},
		{IDs: some},
		{Message: all[4].message},
		{Batch: batch},
		{Statuses: []postledger.Status{postledger.StatusQueued}},
		{Statuses: []postledger.Status{postledger.StatusUnconfirmed}},
		{Statuses: []postledger.Status{postledger.StatusCanceled, postledger.StatusSuppressed}},
		{RefScope: "order", RefID: "7"},
		{RefID: "7"},
		{Lane: postledger.LaneBulk},
		{Recipient: "mira@x.example"},
		{Domain: "x.example"},
		{Domain: "y.example"},
		{Prefix: "mira"},
		{Prefix: "mira@"},
		{Contains: "@x"},
	}
	since, until := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	checked := 0
	for _, app := range []postledger.ID{{}, w.App.ID, other.ID, w.NewID()} {
		for i, a := range parts {
			for _, b := range parts[i:] {
				f := combine(app, a, b)
				f.Since, f.Until = since, until
				got, err := allDeliveries(w, f)
				if errors.Is(err, ledger.ErrFilterTooBroad) {
					if !app.IsZero() {
						t.Errorf("%+v: refused", f)
					}
					continue
				}
				must(t, err)
				var want []postledger.ID
				messages := map[postledger.ID]bool{}
				for i := range all {
					if all[i].fits(f) {
						want = append(want, all[i].id)
						messages[all[i].message] = true
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%+v:\n got %v\nwant %v", f, got, want)
				}
				checked++
				if len(f.IDs) > 0 || f.Domain+f.Prefix+f.Contains != "" || (len(f.Statuses) > 0 && f.Recipient != "") {
					continue
				}
				page, err := w.Messages(ctx, f, ledger.Paging{Limit: 1000})
				must(t, err)
				if len(page.Items) != len(messages) {
					t.Errorf("%+v: %d messages, want %d", f, len(page.Items), len(messages))
				}
				for _, m := range page.Items {
					if !messages[m.ID] {
						t.Errorf("%+v: message %s", f, m.ID)
					}
				}
			}
		}
	}
	if checked < 400 {
		t.Fatalf("only %d filters were checked", checked)
	}
	for name, f := range map[string]ledger.Filter{
		"before": {App: w.App.ID, Until: since}, "after": {App: w.App.ID, Since: until},
	} {
		if got, err := allDeliveries(w, f); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// combine adds up two filters; where both set a field the second one counts.
func combine(app postledger.ID, fs ...ledger.Filter) ledger.Filter {
	out := ledger.Filter{App: app}
	for _, f := range fs {
		for _, id := range []struct{ to, from *postledger.ID }{{&out.Profile, &f.Profile}, {&out.Message, &f.Message}, {&out.Batch, &f.Batch}} {
			if !id.from.IsZero() {
				*id.to = *id.from
			}
		}
		if len(f.IDs) > 0 {
			out.IDs = f.IDs
		}
		if len(f.Statuses) > 0 {
			out.Statuses = f.Statuses
		}
		if f.RefID != "" {
			out.RefScope, out.RefID = f.RefScope, f.RefID
		}
		for _, s := range []struct{ to, from *string }{
			{&out.Recipient, &f.Recipient}, {&out.Domain, &f.Domain}, {&out.Prefix, &f.Prefix}, {&out.Contains, &f.Contains},
		} {
			if *s.from != "" {
				*s.to = *s.from
			}
		}
		if f.Lane != "" {
			out.Lane = f.Lane
		}
	}
	return out
}

// allDeliveries reads a list to its end, in pages of 7.
func allDeliveries(w *World, f ledger.Filter) ([]postledger.ID, error) {
	var out []postledger.ID
	p := ledger.Paging{Limit: 7}
	for {
		page, err := w.Deliveries(w.T.Context(), f, p)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Items {
			out = append(out, d.ID)
		}
		if page.Next == "" {
			slices.SortFunc(out, func(a, b postledger.ID) int { return slices.Compare(b[:], a[:]) })
			return out, nil
		}
		p.Cursor = page.Next
	}
}

// listWildcards: case B58.
func listWildcards(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	for _, a := range []string{"a_b@rcv.test", "acb@rcv.test", "50%off@rcv.test", "50xoff@rcv.test", `c\d@rcv.test`, "cd@rcv.test", "a_bc@rcv.test"} {
		w.Send([]string{a})
	}
	span := ledger.Filter{App: w.App.ID, Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}
	for _, c := range []struct {
		contains, prefix string
		want             []string
	}{
		{"a_b", "", []string{"a_b@rcv.test", "a_bc@rcv.test"}},
		{"50%", "", []string{"50%off@rcv.test"}},
		{`\`, "", []string{`c\d@rcv.test`}},
		{"%", "", []string{"50%off@rcv.test"}},
		{"_", "", []string{"a_b@rcv.test", "a_bc@rcv.test"}},
		{"", "a_", []string{"a_b@rcv.test", "a_bc@rcv.test"}},
		{"", "50%", []string{"50%off@rcv.test"}},
		{"", `c\`, []string{`c\d@rcv.test`}},
		{"", "%%", nil},
	} {
		f := span
		f.Contains, f.Prefix = c.contains, c.prefix
		page, err := w.Deliveries(t.Context(), f, ledger.Paging{Limit: 100})
		must(t, err)
		var got []string
		for _, d := range page.Items {
			got = append(got, d.AddressFolded)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("contains %q, prefix %q: %q, want %q", c.contains, c.prefix, got, c.want)
		}
	}
}
