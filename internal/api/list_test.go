package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
)

// items are the values of one member in a list's items.
func items(a *answer, member string) []string {
	var out []string
	list, _ := a.at("items").([]any)
	for _, v := range list {
		s, _ := v.(map[string]any)[member].(string)
		out = append(out, s)
	}
	return out
}

// B54: each row exactly once, both ways, with rows of one moment and an insert
// between the pages.
func TestPaging(t *testing.T) {
	backends(t, func(t *testing.T, w *world) {
		var messages []any
		for i := range 25 {
			messages = append(messages, letter(fmt.Sprintf("u%02d@in.test", i)))
		}
		w.call("POST", "/v1/batches", w.send, map[string]any{"messages": messages}).want(http.StatusAccepted)
		for _, path := range []string{"/v1/messages", "/v1/deliveries"} {
			all := items(w.call("GET", path+"?limit=1000", w.read, nil).want(http.StatusOK), "id")
			if len(all) < 25 || !slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }) {
				t.Fatalf("%s: %d rows", path, len(all))
			}
			var forward []string
			var last *answer
			for cursor := ""; ; {
				q := path + "?limit=10&total=true"
				if cursor != "" {
					q += "&cursor=" + cursor
				}
				last = w.call("GET", q, w.read, nil).want(http.StatusOK)
				forward = append(forward, items(last, "id")...)
				if n := last.number("total", "n"); n < 25 || last.at("total", "more") != false {
					t.Errorf("%s: total %s", path, last.body)
				}
				w.sent(letter()) // newer than every page: it shifts nothing
				if cursor = last.text("next"); cursor == "" {
					break
				}
			}
			if !slices.Equal(forward, all) {
				t.Errorf("%s forward:\n%q\n%q", path, forward, all)
			}
			back := items(last, "id")
			for cursor := last.text("prev"); cursor != "" && len(back) < len(all); {
				p := w.call("GET", path+"?limit=10&cursor="+cursor, w.read, nil).want(http.StatusOK)
				back = append(items(p, "id"), back...)
				cursor = p.text("prev")
			}
			if !slices.Equal(back[len(back)-len(all):], all) {
				t.Errorf("%s back:\n%q\n%q", path, back, all)
			}
			cursor := last.text("prev")
			w.call("GET", path+"?limit=10&status=sent&cursor="+cursor, w.read, nil).refused("bad_input", "cursor mismatch")
			w.call("GET", path+"?cursor=abc", w.read, nil).refused("bad_input", "cursor syntax")
			w.call("GET", path+"?cursor="+cursor, w.foreign, nil).refused("bad_input", "cursor mismatch")
		}
	})
}

func TestFilters(t *testing.T) {
	w := sqlite(t)
	id := w.sent(with(letter("Ada.B@IN.test"), "lane", "bulk", "ref", map[string]any{"scope": "order", "id": "9"}))
	w.sent(letter("bob@other.test"))
	now := time.Now().UTC()
	since, until := url.QueryEscape(now.Add(-time.Hour).Format(time.RFC3339)), url.QueryEscape(now.Add(time.Hour).Format(time.RFC3339Nano))
	window := "&since=" + since + "&until=" + until
	for query, n := range map[string]int{
		"": 2, "?lane=bulk": 1, "?ref_scope=order&ref_id=9": 1, "?ref_id=9": 0, "?recipient=ada.b@in.test": 1, "?recipient=ADA.B@in.TEST": 1,
		"?status=queued": 2, "?status=sent": 0, "?status=queued,sent": 2, "?profile=main": 2, "?profile=" + w.profile.ID.String(): 2, "?profile=none": 0,
		"?since=" + since: 2, "?until=" + since: 0, "?app=" + w.app.ID.String(): 2, "?app=" + w.other.ID.String(): 0, "?limit=1": 1,
	} {
		for _, path := range []string{"/v1/messages", "/v1/deliveries"} {
			if got := w.call("GET", path+query, w.read, nil).want(http.StatusOK); len(items(got, "id")) != n {
				t.Errorf("%s%s: %d, want %d", path, query, len(items(got, "id")), n)
			}
		}
	}
	for query, n := range map[string]int{
		"?message=" + id.String(): 1, "?prefix=ada": 1, "?prefix=ADA": 1, "?prefix=x%25": 0,
		"?domain=in.test" + window: 1, "?domain=IN.TEST" + window: 1, "?contains=.b@" + window: 1, "?contains=%25" + window: 0,
	} {
		if got := w.call("GET", "/v1/deliveries"+query, w.read, nil).want(http.StatusOK); len(items(got, "id")) != n {
			t.Errorf("%s: %d, want %d", query, len(items(got, "id")), n)
		}
	}
	// An operator sees all apps, or one.
	w.call("POST", "/v1/messages", w.foreign, letter()).want(http.StatusAccepted)
	for query, n := range map[string]int{"": 3, "?app=" + w.app.ID.String(): 2, "?app=" + w.ledger.NewID().String(): 0} {
		if got := w.call("GET", "/v1/messages"+query, w.admin, nil).want(http.StatusOK); len(items(got, "id")) != n {
			t.Errorf("operator%s: %d, want %d", query, len(items(got, "id")), n)
		}
	}
	w.call("GET", "/v1/messages?profile=none", w.admin, nil).refused("profile_unknown")
	w.call("GET", "/v1/messages?ref_id=9", w.admin, nil).refused("filter_too_broad")
	w.call("GET", "/v1/deliveries?domain=in.test", w.read, nil).refused("filter_too_broad")
	if d := w.call("GET", "/v1/deliveries?contains=in.test", w.read, nil).refused("filter_too_broad"); !strings.Contains(d.text("detail"), "since and until") {
		t.Errorf("detail %q", d.text("detail"))
	}
}

func TestBadQueries(t *testing.T) {
	w := sqlite(t)
	for query, want := range map[string]string{
		"?stauts=sent": "stauts unknown",
		"?status=":     "status empty",
		"?status":      "status empty",
		"?app=00000000-0000-0000-0000-000000000000": "app empty",
		"?until=0001-01-01T00:00:00Z":               "until empty",
		"?status=send":                              "status unknown",
		"?status=sent,":                             "status unknown",
		"?status=sent&status=failed":                "status duplicate",
		"?limit=0":                                  "limit range",
		"?limit=1001":                               "limit range",
		"?limit=x":                                  "limit type",
		"?lane=fast":                                "lane unknown",
		"?app=7":                                    "app syntax",
		"?since=yesterday":                          "since syntax",
		"?recipient=x":                              "recipient syntax",
		"?total=maybe":                              "total type",
		"?ref_scope=order":                          "ref_scope range",
		"?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z": "since range",
		"?a=%zz": "syntax",
		"?a;b":   "syntax",
	} {
		t.Run(query, func(t *testing.T) {
			w.t = t
			w.call("GET", "/v1/messages"+query, w.read, nil).refused("bad_input", want)
		})
	}
	w.t = t
	w.call("GET", "/v1/messages/17", w.read, nil).refused("bad_input", "id syntax")
	w.call("GET", "/v1/messages?prefix=ada", w.read, nil).refused("bad_input", "prefix unknown")
	w.call("GET", "/v1/deliveries?prefix=a", w.read, nil).refused("bad_input", "prefix range")
}

func TestStats(t *testing.T) {
	w := sqlite(t)
	w.sent(letter("a@in.test", "b@in.test"))
	w.settles(w.lease(postledger.LaneImmediate, 2), postledger.StatusSent, postledger.ReasonSandbox)
	a := w.call("GET", "/v1/stats", w.read, nil).want(http.StatusOK)
	if a.number("hours", 0, "messages") != 1 || a.number("hours", 0, "deliveries") != 2 ||
		a.text("hours", 0, "settled", 0, "status") != "sent" || a.text("hours", 0, "settled", 0, "reason") != "sandbox" || a.number("hours", 0, "settled", 0, "n") != 2 {
		t.Errorf("stats %s", a.body)
	}
	if f := w.call("GET", "/v1/stats", w.foreign, nil).want(http.StatusOK); len(f.at("hours").([]any)) != 0 {
		t.Errorf("another app's stats %s", f.body)
	}
	if o := w.call("GET", "/v1/stats?lane=immediate&profile=main", w.admin, nil).want(http.StatusOK); o.number("hours", 0, "deliveries") != 2 {
		t.Errorf("operator's stats %s", o.body)
	}
	w.call("GET", "/v1/stats?since=2026-01-01T00:00:00Z&until=2026-11-01T00:00:00Z", w.read, nil).refused("filter_too_broad")
	w.call("GET", "/v1/stats?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", w.read, nil).refused("bad_input", "since range")
}
