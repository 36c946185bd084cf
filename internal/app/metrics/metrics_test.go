package metrics_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app/metrics"
	"github.com/postledger/postledger/internal/audience"
	"github.com/postledger/postledger/internal/ledger"
)

var update = flag.Bool("update", false, "write docs/metrics.md")

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// exercised has a value for every metric.
func exercised(t *testing.T) *metrics.Metrics {
	t.Helper()
	m := metrics.New("v1.2.3", 1, func() sql.DBStats {
		return sql.DBStats{MaxOpenConnections: 16, InUse: 3, Idle: 2, WaitCount: 5, WaitDuration: 1500 * time.Millisecond}
	})
	m.Accepted("main", 3)
	m.Leased(postledger.LaneBulk, 2, time.Millisecond)
	m.Sent("main", postledger.LaneBulk, postledger.OutcomeAccepted, time.Second)
	m.Settled("main", []ledger.Settled{
		{Applied: true, Status: postledger.StatusSent, Reason: postledger.ReasonSandbox, Lane: postledger.LaneBulk, CreatedAt: time.Now()},
		{Applied: true, Status: postledger.StatusQueued, Reason: postledger.ReasonDeferred},
		{Applied: false, Status: postledger.StatusSent, Reason: postledger.ReasonSandbox},
	})
	m.Health("main", "down")
	m.Rate("main", 30)
	m.JournalTaken(2)
	m.Waits()
	m.Waits()()
	m.RetentionLag(time.Minute)
	jobsOf(m)
	m.WebhookTried("refused", time.Second)
	m.WebhookEnded("delivered")
	m.WebhookDisabled()
	m.Counted(audience.OutcomeDone, 500, time.Second)
	m.Counted(audience.OutcomeBusy, 0, 0)
	if err := m.Sample(context.Background(), world{}); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/messages/{id}", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotFound) })
	h, err := m.HTTP(mux, []byte(`{"paths":{"/v1/messages/{id}":{"get":{},"parameters":[]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.HTTP(mux, []byte("[]")); err == nil {
		t.Error("routes of no document")
	}
	for _, path := range []string{"/v1/messages/0190", "/nothing"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	return m
}

// world is a ledger with a late immediate delivery and one that is not due.
type world struct{ fails bool }

var errDown = errors.New("down")

func (w world) Backlogs(context.Context) (map[postledger.ID]ledger.Backlog, error) {
	if w.fails {
		return nil, errDown
	}
	return map[postledger.ID]ledger.Backlog{
		{1}: {Waiting: 7, LateBy: map[postledger.Lane]time.Duration{postledger.LaneImmediate: 90 * time.Second, postledger.LaneBulk: 0}},
		{3}: {Waiting: 1, LateBy: map[postledger.Lane]time.Duration{postledger.LaneImmediate: time.Second}},
	}, nil
}

func (world) Unconfirmed(context.Context, postledger.ID, int) ([]postledger.ID, error) {
	return make([]postledger.ID, 4), nil
}

func (world) Workers(context.Context) ([]ledger.Worker, error) { return make([]ledger.Worker, 2), nil }

func (world) Profiles(context.Context) ([]postledger.Profile, error) {
	return []postledger.Profile{{ID: postledger.ID{1}, Name: "main"}, {ID: postledger.ID{2}, Name: "gone", RemovedAt: time.Now()}}, nil
}

func (world) CountWebhooks(context.Context) (ledger.WebhookCounts, error) {
	return ledger.WebhookCounts{Working: 5, Failing: 2, Disabled: 1}, nil
}

func TestValues(t *testing.T) {
	got := scrape(t, exercised(t))
	for _, want := range []string{
		`postledger_webhook_tries_total{verdict="refused"} 1`,
		`postledger_webhook_events_total{end="delivered"} 1`,
		`postledger_webhooks_disabled_total 1`,
		`postledger_audience_counts_total{outcome="done"} 1`,
		`postledger_audience_counts_total{outcome="busy"} 1`,
		`postledger_audience_count_rows_total 500`,
		`postledger_audience_count_seconds_count 1`,
		`postledger_webhooks{state="failing"} 2`,
		`postledger_build_info{schema="1",version="v1.2.3"} 1`,
		`postledger_accepted_deliveries_total{profile="main"} 3`,
		`postledger_leased_deliveries_total{lane="bulk"} 2`,
		`postledger_sent_total{lane="bulk",outcome="accepted",profile="main"} 1`,
		`postledger_settled_total{profile="main",reason="sandbox",status="sent"} 1`,
		`postledger_requeued_total{profile="main",reason="deferred"} 1`,
		`postledger_delivery_seconds_count{lane="bulk"} 1`,
		`postledger_profile_up{profile="main",state="down"} 1`,
		`postledger_profile_up{profile="main",state="up"} 0`,
		`postledger_profile_rate{profile="main"} 30`,
		`postledger_waiters 1`,
		`postledger_oldest_due_seconds{lane="immediate"} 90`,
		`postledger_oldest_due_seconds{lane="bulk"} 0`,
		`postledger_waiting_deliveries{profile="main"} 7`,
		`postledger_unconfirmed_deliveries 4`,
		`postledger_workers 2`,
		`postledger_retention_lag_seconds 60`,
		`postledger_http_requests_total{route="GET /v1/messages/{id}",status="404"} 1`,
		`postledger_http_requests_total{route="none",status="404"} 1`,
		`postledger_db_connections{state="in_use"} 3`,
		`postledger_db_wait_seconds_total 1.5`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %q", want)
		}
	}
	if strings.Contains(got, `profile="gone"`) {
		t.Error("a removed profile has a backlog")
	}
}

func TestAFailedSampleKeepsTheValues(t *testing.T) {
	m := exercised(t)
	if err := m.Sample(context.Background(), world{fails: true}); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	got := scrape(t, m)
	for _, want := range []string{"postledger_unconfirmed_deliveries 4\n", "postledger_sample_failures_total 1\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q", want)
		}
	}
}

func TestVerifyMetrics(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "metrics.md")
	if *update {
		if err := os.WriteFile(path, []byte(metrics.Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(doc) != metrics.Markdown() {
		t.Error("docs/metrics.md is out of date: go test ./internal/app/metrics -run TestVerifyMetrics -update")
	}
	var served, documented []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (postledger_\w+) (\w+)$`).FindAllStringSubmatch(scrape(t, exercised(t)), -1) {
		served = append(served, m[1]+" "+m[2])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(postledger_\\w+)` \\| (\\w+) \\|").FindAllStringSubmatch(string(doc), -1) {
		documented = append(documented, m[1]+" "+m[2])
	}
	slices.Sort(documented)
	if !slices.Equal(served, documented) {
		t.Errorf("served:\n%q\ndocumented:\n%q", served, documented)
	}
}
