package audience_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/audience"
	"github.com/postledger/postledger/lens/catalogue"
)

// Each row is one thing, and one address is one person however it is written: B22.
func TestCountsAddUp(t *testing.T) {
	sources(t, func(t *testing.T, w *world) {
		want := audience.Counts{Matched: 9, Mailable: 4, NoAddress: 2, Invalid: 1, Duplicate: 2}
		if n := w.count(of(everyone)); n != want {
			t.Errorf("%+v, want %+v", n, want)
		}
		// Three rows, one person: suppressed by any spelling, once.
		w.suppress("mIrA.hOlT@Rcv.TEST")
		w.suppress("nobody@else.test")
		want.Mailable, want.Suppressed = 3, 1
		if n := w.count(of(everyone)); n != want {
			t.Errorf("suppressed: %+v, want %+v", n, want)
		}
		related := of(everyone)
		related.Address, related.Lens = "company.mail", json.RawMessage(`{"from":"users","where":{"id":{"lte":5}},"select":[{"company":["mail","name"]}]}`)
		if n := w.count(related); n != (audience.Counts{Matched: 5, Mailable: 1, NoAddress: 3, Duplicate: 1}) {
			t.Errorf("by company: %+v", n)
		}
	})
}

// A filter and its negation are everyone: B57. Wildcards are letters: B58.
func TestFiltersMeanWhatPeopleMean(t *testing.T) {
	sources(t, func(t *testing.T, w *world) {
		for filter, want := range map[string]int64{
			`{"country":{"eq":"NO"}}`:                    5,
			`{"country":{"in":["NO","SE"]}}`:             6,
			`{"country":{"isNull":true}}`:                3,
			`{"name":{"contains":"50%"}}`:                1,
			`{"email":{"contains":"a_b"}}`:               1,
			`{"email":{"contains":"%"}}`:                 0,
			`{"name":{"contains":"\\"}}`:                 0,
			`{"orders":{"some":{"total":{"gte":7}}}}`:    2,
			`{"company":{"is":{"name":{"eq":"Holt"}}}}`:  2,
			`{"email":{"endsWith":"@RCV.test"}}`:         1,
			`{"any":[{"id":{"eq":1}},{"id":{"eq":99}}]}`: 1,
		} {
			n, rest := w.count(of(filter)), w.count(of(`{"not":`+filter+`}`))
			if n.Matched != want || n.Matched+rest.Matched != 9 {
				t.Errorf("%s: %d match and %d do not, want %d of 9", filter, n.Matched, rest.Matched, want)
			}
		}
	})
}

// No lens sees what a floor does not admit, in any way that it can ask.
func TestAFloorCannotBeRemoved(t *testing.T) {
	sources(t, func(t *testing.T, w *world) {
		w.scope(`{where: {users: {tenant: {eq: 1}}, orders: {any: []}}}`)
		for where, want := range map[string]int64{
			everyone:              7,
			`{"tenant":{"eq":2}}`: 0,
			`{"any":[{"tenant":{"ne":1}},{"id":{"gt":0}}]}`:             7,
			`{"not":{"tenant":{"eq":1}}}`:                               0,
			`{"orders":{"some":{"everyone":true}}}`:                     0,
			`{"company":{"is":{"users":{"some":{"tenant":{"eq":2}}}}}}`: 0,
		} {
			if n := w.count(of(where)); n.Matched != want {
				t.Errorf("%s: %d match, want %d", where, n.Matched, want)
			}
		}
	})
}

// Relative days are those of the lens's zone, over a change of its clocks, in
// every database: B52's two days.
func TestDaysAreThoseOfTheZone(t *testing.T) {
	sources(t, func(t *testing.T, w *world) {
		w.exec(`UPDATE users SET seen_at = NULL`)
		// PostgreSQL's TIMESTAMP is a wall clock; SQLite's and MariaDB's are instants,
		// the latter written in the session's zone.
		seen := func(id int, utc, oslo string) {
			t.Helper()
			value := `'` + utc + `'`
			switch w.dialect {
			case catalogue.PostgreSQL:
				value = `'` + oslo + `'`
			case catalogue.MySQL:
				at, err := time.Parse(time.DateTime, utc)
				must(t, err)
				value = fmt.Sprintf("FROM_UNIXTIME(%d)", at.Unix())
			}
			w.exec(fmt.Sprintf(`UPDATE users SET seen_at = %s WHERE id = %d`, value, id))
		}
		seen(1, "2026-03-28 22:59:00", "2026-03-28 23:59:00") // the day before
		seen(2, "2026-03-28 23:00:00", "2026-03-29 00:00:00") // its first minute
		seen(3, "2026-03-29 21:59:00", "2026-03-29 23:59:00") // its last: the day has 23 hours
		seen(4, "2026-03-29 22:00:00", "2026-03-30 00:00:00") // the day after
		w.now = time.Date(2026, 3, 30, 7, 0, 0, 0, time.UTC)
		if n := w.count(of(`{"seen_at":{"gte":"now-1d/d","lt":"now/d"}}`)); n.Matched != 2 {
			t.Errorf("on the day with 23 hours: %d, want 2", n.Matched)
		}
		seen(5, "2026-10-24 22:00:00", "2026-10-25 00:00:00")
		seen(6, "2026-10-25 22:59:00", "2026-10-25 23:59:00") // the day has 25 hours
		seen(7, "2026-10-25 23:00:00", "2026-10-26 00:00:00")
		w.now = time.Date(2026, 10, 26, 7, 0, 0, 0, time.UTC)
		if n := w.count(of(`{"seen_at":{"gte":"now-1d/d","lt":"now/d"}}`)); n.Matched != 2 {
			t.Errorf("on the day with 25 hours: %d, want 2", n.Matched)
		}
		noZone := of(everyone)
		noZone.Lens = json.RawMessage(`{"from":"users","where":{"seen_at":{"gte":"now-1d"}},"select":["email"]}`)
		_, err := w.Check(t.Context(), w.app, noZone)
		if found := problems(t, err); found[0].Field != "lens.where.seen_at.gte" {
			t.Errorf("days without a zone: %+v", found)
		}
	})
}

func TestParametersAreAsked(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	d := of(everyone)
	d.Lens = json.RawMessage(`{"from":"users","where":{"country":{"eq":{"param":"land"}}},"select":["email"],"params":{"land":{"kind":"text"}}}`)
	if _, err := w.Check(t.Context(), w.app, d); err != nil {
		t.Fatal(err)
	}
	try := func(params map[string]any) (audience.Preview, error) {
		return w.Preview(t.Context(), w.app, d, params, audience.Want{Counts: true}, func(audience.Progress) {})
	}
	p, err := try(map[string]any{"land": "NO"})
	if err != nil || p.Counts.Matched != 5 {
		t.Errorf("%+v %v", p.Counts, err)
	}
	for _, tt := range []struct {
		params map[string]any
		want   string
	}{
		{nil, "lens.where.country.eq"},
		{map[string]any{"lnad": "NO"}, "params.lnad"},
		{map[string]any{"land": json.Number("7")}, "lens.where.country.eq.param land"},
		{map[string]any{"land": nil}, "lens.where.country.eq"},
		{map[string]any{"land": []any{"NO"}}, "lens.where.country.eq.param land"},
	} {
		_, err := try(tt.params)
		found := problems(t, err)
		fields := map[string]bool{}
		for _, f := range found {
			fields[f.Field] = true
		}
		if !fields[tt.want] {
			t.Errorf("%v: %+v, want %s", tt.params, found, tt.want)
		}
	}
}

// A count ends with its caller, within its time, and leaves its place.
func TestCountsEnd(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := w.Preview(ctx, w.app, of(everyone), nil, audience.Want{Counts: true}, func(p audience.Progress) { cancel() })
	if !errors.Is(err, context.Canceled) || errors.Is(err, audience.ErrTooLong) {
		t.Errorf("canceled: %v", err)
	}
	short := newWorld(t, catalogue.SQLite, shop, func(c *audience.Config) { c.Timeout = time.Nanosecond })
	_, err = short.Preview(t.Context(), short.app, of(everyone), nil, audience.Want{Counts: true}, func(audience.Progress) {})
	if !errors.Is(err, audience.ErrTooLong) {
		t.Errorf("no time: %v", err)
	}
	// Two counts may run, one of them of an app; each is refused while it is held.
	var inner, foreign error
	_, err = w.Preview(t.Context(), w.app, of(everyone), nil, audience.Want{Counts: true}, func(p audience.Progress) {
		if p.Read > 0 {
			return
		}
		_, inner = w.Preview(t.Context(), w.app, of(everyone), nil, audience.Want{Counts: true}, func(audience.Progress) {})
		_, foreign = w.Preview(t.Context(), w.other, of(everyone), nil, audience.Want{Counts: true}, func(audience.Progress) {})
	})
	if err != nil || !errors.Is(inner, audience.ErrBusy) || errors.Is(foreign, audience.ErrBusy) {
		t.Errorf("outer %v, the app's second %v, another app's %v", err, inner, foreign)
	}
	w.count(of(everyone))
	// More rows than a page has, so that something is left to be stopped.
	w.exec(`WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 5099)
		INSERT INTO users (id, email, tenant) SELECT i, 'u' || i || '@in.test', 1 FROM n`)
	_, err = w.Preview(t.Context(), w.app, of(everyone), nil, audience.Want{Counts: true}, func(audience.Progress) { w.Stop() })
	if !errors.Is(err, audience.ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
}

func TestProgressIsTold(t *testing.T) {
	w := newWorld(t, catalogue.SQLite, shop)
	w.exec(`WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1299)
		INSERT INTO users (id, email, tenant) SELECT i, 'u' || i || '@in.test', 1 FROM n`)
	var told []audience.Progress
	p, err := w.Preview(t.Context(), w.app, of(everyone), nil, audience.Want{Counts: true}, func(p audience.Progress) { told = append(told, p) })
	must(t, err)
	if p.Counts.Matched != 1209 || len(told) != 3 || told[0] != (audience.Progress{Read: 0, Of: 1209}) || told[1].Read != 1000 || told[2].Read != 1209 {
		t.Errorf("%+v, told %+v", p.Counts, told)
	}
}
