package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// backlogList is a list that people look at.
type backlogList struct{ path, query string }

// byText are searches in addresses, which need an app.
func (l backlogList) byText() bool {
	return strings.Contains(l.query, "domain=") || strings.Contains(l.query, "contains=") || strings.Contains(l.query, "prefix=")
}

var backlogLists = []backlogList{
	{"deliveries", ""},
	{"deliveries", "status=queued"},
	{"deliveries", "status=sent"},
	{"deliveries", "status=unconfirmed,failed"},
	{"deliveries", "profile=relay&lane=bulk"},
	{"deliveries", "profile=relay&lane=immediate"},
	{"deliveries", "recipient=1234@rcpt.example"},
	{"deliveries", "prefix=1234"},
	{"deliveries", "domain=rcpt.example"},
	{"deliveries", "contains=1234"},
	{"deliveries", "status=queued&total=true"},
	{"messages", ""},
	{"messages", "status=queued"},
	{"messages", "status=sent"},
	{"messages", "profile=relay&lane=immediate"},
	{"messages", "total=true"},
}

// list reads the first pages of a list with the app's key and an operator's. One
// that is slow is asked for four times more, and the median counts: what else the
// machine does has a moment now and then.
func (b *backlogged) list(s *server, l backlogList) {
	b.t.Helper()
	for who, env := range map[string][]string{"app": b.app, "operator": b.operator} {
		if l.byText() && who == "operator" {
			continue
		}
		filter := l.query
		if strings.Contains(filter, "domain=") || strings.Contains(filter, "contains=") {
			filter += "&since=" + time.Now().Add(-24*time.Hour).UTC().Format(time.RFC3339) + "&until=" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		}
		query := fmt.Sprintf("limit=%d&%s", b.form.page, filter)
		var slowest time.Duration
		for pages := 0; pages < 3 && query != ""; pages++ {
			next, took := b.page(s, env, l.path, query)
			if took > maxPage {
				all := []time.Duration{took}
				for range 4 {
					_, once := b.page(s, env, l.path, query)
					all = append(all, once)
				}
				// Beside other tests, which take the processors now and then, the
				// fastest says what a page takes; alone it is the middle one.
				slices.Sort(all)
				if took = all[0]; b.form.alone {
					took = all[len(all)/2]
				}
			}
			slowest = max(slowest, took)
			if query = ""; next != "" {
				query = fmt.Sprintf("limit=%d&cursor=%s&%s", b.form.page, url.QueryEscape(next), filter)
			}
		}
		if slowest > maxPage {
			b.t.Errorf("a page of %s?%s took %v for the %s", l.path, l.query, slowest, who)
		}
		b.slowest = max(b.slowest, slowest)
	}
}

// page reads one and returns the next one's cursor.
func (b *backlogged) page(s *server, env []string, path, query string) (next string, took time.Duration) {
	b.t.Helper()
	began := time.Now()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, s.api+"/v1/"+path+"?"+query, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimPrefix(env[1], "POSTLEDGER_API_KEY="))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.t.Fatalf("GET %s?%s: %d, %v: %.300s", path, query, resp.StatusCode, err, body)
	}
	took = time.Since(began)
	var page struct{ Next string }
	if err := json.Unmarshal(body, &page); err != nil {
		b.t.Fatal(err)
	}
	return page.Next, took
}
