package outboxtest

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// listing is a store with rows in every section of a list, in its order.
func listing(t *testing.T, s Store) (all []jobs.Entry) {
	t.Helper()
	other := func(e *jobs.Entry) { e.Handler = "other" }
	later := func(by time.Duration) func(*jobs.Entry) {
		at := now().Add(by)
		return func(e *jobs.Entry) { e.RunAt = at }
	}
	hot, aside := several(3), several(3)
	g2, s2, plain, s1, g1 := several(2, grouped("g")), several(2, slow, grouped("käse'\"\\ ")), several(2), several(2, slow), several(2, other, grouped("a"))
	latest, soon, together := job(later(3*time.Hour)), job(slow, later(time.Hour)), several(3, later(2*time.Hour))
	for _, part := range [][]jobs.Entry{hot, g2, s2, plain, {latest}, aside, s1, together, g1, {soon}} {
		insert(t, s, part...)
	}
	changed(t, 3)(s.Admit(t.Context(), "e", []jobs.Ref{hot[0].Ref(), hot[1].Ref(), hot[2].Ref()}))
	// Together, and later one by itself whose place is before theirs.
	changed(t, 2)(s.Quarantine(t.Context(), []jobs.ID{aside[1].ID, aside[2].ID}, ""))
	aMoment()
	changed(t, 1)(s.Quarantine(t.Context(), []jobs.ID{aside[0].ID}, ""))
	aside = []jobs.Entry{aside[1], aside[2], aside[0]}
	return slices.Concat(hot, plain, g1, g2, s1, s2, []jobs.Entry{soon}, together, []jobs.Entry{latest}, aside)
}

// aMoment ends when the coarsest clock of a store, which counts milliseconds, has moved.
func aMoment() {
	for began := time.Now(); time.Since(began) < 2*time.Millisecond; {
		runtime.Gosched()
	}
}

// lists: each row that was asked for comes once, in order, whatever a page's size.
func lists(t *testing.T, s Store) {
	all := listing(t, s)
	of := func(fits func(jobs.Entry) bool) (some []jobs.Entry) {
		for _, e := range all {
			if fits(e) {
				some = append(some, e)
			}
		}
		return some
	}
	for name, q := range map[string]struct {
		query jobs.Query
		want  []jobs.Entry
	}{
		"all":              {jobs.Query{}, all},
		"buffered":         {jobs.Query{State: jobs.Buffered}, all[3 : len(all)-3]},
		"admitted":         {jobs.Query{State: jobs.Admitted}, all[:3]},
		"aside":            {jobs.Query{State: jobs.Quarantined}, all[len(all)-3:]},
		"lane":             {jobs.Query{Lane: jobs.Slow}, of(func(e jobs.Entry) bool { return e.Lane == jobs.Slow })},
		"handler":          {jobs.Query{Handler: "other"}, of(func(e jobs.Entry) bool { return e.Handler == "other" })},
		"group":            {jobs.Query{Group: "g"}, of(func(e jobs.Entry) bool { return e.Group == "g" })},
		"group and lane":   {jobs.Query{Group: "käse'\"\\ ", Lane: jobs.Slow, State: jobs.Buffered}, of(func(e jobs.Entry) bool { return e.Group == "käse'\"\\ " })},
		"group, no such":   {jobs.Query{Group: "g", Lane: jobs.Slow}, nil},
		"handler, no such": {jobs.Query{Handler: "another"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 100} {
				query := q.query
				query.Limit = size
				var got []jobs.Row
				for pages := 0; ; pages++ {
					rows, next, err := s.List(t.Context(), query)
					if err != nil || len(rows) > size || pages > 2*len(all) {
						t.Fatalf("page %d of %d: %d rows (%v), next %q", pages, size, len(rows), err, next)
					}
					got = append(got, rows...)
					if query.After = next; next == "" {
						break
					}
				}
				wantIDs(t, got, q.want...)
			}
		})
	}
	if rows, next, err := s.List(t.Context(), jobs.Query{}); err != nil || len(rows) != 0 || next != "" {
		t.Errorf("a page of none: %d rows, next %q (%v)", len(rows), next, err)
	}
}

// pagesEnd: a page ends where what it looks at or carries would be too much, and the
// next goes on from there.
func pagesEnd(t *testing.T, s Store) {
	const few = 3
	rare := func(e *jobs.Entry) { e.Handler = "rare" }
	first, last := several(few, rare), several(few, rare)
	insert(t, s, first...)
	insert(t, s, several(2300)...)
	insert(t, s, last...)
	var got []jobs.Row
	sizes := []int{}
	for query := (jobs.Query{Handler: "rare", Limit: 10}); ; {
		rows, next, err := s.List(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		got, sizes = append(got, rows...), append(sizes, len(rows))
		if query.After = next; next == "" {
			break
		}
	}
	wantIDs(t, got, append(first, last...)...)
	if !slices.Equal(sizes, []int{few, 0, few}) {
		t.Errorf("pages of %v rows: a page looks at a thousand", sizes)
	}

	large := several(200, func(e *jobs.Entry) { e.Handler, e.Payload = "large", make([]byte, 60<<10) })
	changed(t, 200)(s.Admit(t.Context(), "e", refs(insert(t, s, large...))))
	rows, next, err := s.List(t.Context(), jobs.Query{Limit: 500})
	if err != nil || len(rows) != 68 || next == "" {
		t.Errorf("a page of %d rows, next %q (%v), want the 68 that 4 MiB hold", len(rows), next, err)
	}
}

// strangeCursors are none of a list's.
func strangeCursors(t *testing.T, s Store) {
	listing(t, s)
	_, aside, err := s.List(t.Context(), jobs.Query{State: jobs.Quarantined, Limit: 1})
	if err != nil || aside == "" {
		t.Fatalf("next %q (%v)", aside, err)
	}
	for _, after := range []string{
		"7", "f", "f.", "f0.", "f-1.", "x1.", "h1.Zw", "fé.", "f1", "f1.Z", "f1.AA", "f1.gA", "l1.", "l1.Zw", "f01.", "f+1.", "f1.Zw==", " f1.", "f99999999999999999999.", aside,
	} {
		rows, _, err := s.List(t.Context(), jobs.Query{State: jobs.Buffered, After: after, Limit: 9})
		if !errors.Is(err, jobs.ErrBadCursor) || len(rows) > 0 {
			t.Errorf("%q: %d rows and %v", after, len(rows), err)
		}
	}
	if _, _, err := s.List(t.Context(), jobs.Query{State: jobs.Buffered, After: "f1.Zw", Limit: 9}); err != nil {
		t.Errorf("behind the group g: %v", err)
	}
}
