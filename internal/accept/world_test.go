package accept_test

import (
	"context"
	"database/sql"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/blob/dir"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport"
)

// world is a service on a real database and a real store, with one app and a
// default profile.
type world struct {
	*accept.Service
	t       testing.TB
	url     string
	ledger  *ledger.Ledger
	blobs   *dir.Store
	caller  accept.Caller
	profile postledger.Profile
	caps    transport.Capabilities

	mu   sync.Mutex
	woke []ledger.ClaimKey
}

// backends runs a test on each database.
func backends(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newWorld(t, "sqlite://"+filepath.Join(t.TempDir(), "ledger.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newWorld(t, testserver.Postgres(t)))
	})
}

func newWorld(t testing.TB, url string) *world {
	t.Helper()
	w := &world{t: t, url: url, ledger: openLedger(t, url), caps: transport.Capabilities{Name: "sandbox"}}
	must(t, w.ledger.Migrate(t.Context()))
	var err error
	w.blobs, err = dir.Open(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, w.blobs.Close()) })
	w.Service = w.service(w.ledger)
	w.caller = accept.Caller{App: w.app("shop"), RequestID: "r-1"}
	w.profile = w.put(postledger.Profile{Name: "main", IsDefault: true, Config: config()})
	return w
}

func config() postledger.ProfileConfig {
	return postledger.ProfileConfig{From: "desk@send.test", Transport: "sandbox", Connections: 2}
}

func openLedger(t testing.TB, url string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), url, ledger.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

// service makes one more service, as another process would.
func (w *world) service(l accept.Ledger, change ...func(*accept.Config)) *accept.Service {
	c := accept.Config{
		Ledger: l, Blobs: w.blobs, Backlog: accept.NewEstimate(w.ledger, nil),
		Capabilities: func(*postledger.Profile) transport.Capabilities { return w.caps },
		Wake: func(keys []ledger.ClaimKey) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.woke = append(w.woke, keys...)
		},
	}
	for _, f := range change {
		f(&c)
	}
	return accept.New(c)
}

func (w *world) did(action string) postledger.AuditEvent {
	return postledger.AuditEvent{ID: w.ledger.NewID(), Action: action, Result: "done"}
}

func (w *world) app(name string) postledger.ID {
	w.t.Helper()
	a := postledger.App{ID: w.ledger.NewID(), Name: name}
	must(w.t, w.ledger.CreateApp(w.t.Context(), a, w.did("app.create")))
	return a.ID
}

func (w *world) put(p postledger.Profile) postledger.Profile {
	w.t.Helper()
	out, err := w.ledger.PutProfile(w.t.Context(), p, p.Revision, w.did("profile.put"))
	must(w.t, err)
	return out
}

// reconfigure changes the profile's configuration.
func (w *world) reconfigure(change func(*postledger.ProfileConfig)) {
	w.t.Helper()
	change(&w.profile.Config)
	w.profile = w.put(w.profile)
}

func (w *world) grant(g postledger.Grant) {
	w.t.Helper()
	must(w.t, w.ledger.PutGrant(w.t.Context(), g, w.did("grant.put")))
}

// accepted accepts a request and returns what the ledger then has.
func (w *world) accepted(r *accept.Request) (accept.Receipt, *ledger.Loaded, []postledger.Delivery) {
	w.t.Helper()
	rec, err := w.Accept(w.t.Context(), w.caller, r)
	must(w.t, err)
	m, ds := w.read(rec.MessageID)
	return rec, m, ds
}

func (w *world) read(id postledger.ID) (*ledger.Loaded, []postledger.Delivery) {
	w.t.Helper()
	loaded, err := w.ledger.LoadMessages(w.t.Context(), []postledger.ID{id}, math.MaxInt64)
	must(w.t, err)
	if loaded[id] == nil {
		w.t.Fatalf("message %s is not there", id)
	}
	ds, err := w.ledger.DeliveriesOf(w.t.Context(), id)
	must(w.t, err)
	return loaded[id], ds
}

// blobKeys lists everything in the store.
func (w *world) blobKeys() []string {
	w.t.Helper()
	entries, err := w.blobs.List(context.Background(), "", "", 1000)
	must(w.t, err)
	var keys []string
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// rows counts what accepting writes, by table.
func (w *world) rows() map[string]int {
	w.t.Helper()
	driver, dsn := "pgx", w.url
	if path, ok := strings.CutPrefix(w.url, "sqlite://"); ok {
		driver, dsn = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, dsn)
	must(w.t, err)
	defer db.Close()
	out := map[string]int{}
	for _, table := range []string{"messages", "contents", "deliveries", "idempotency_keys", "quota_minutes", "accept_counts", "audit_events"} {
		var n int
		must(w.t, db.QueryRowContext(w.t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		out[table] = n
	}
	return out
}

// audits are the actions of accepting, oldest first.
func (w *world) audits() []postledger.AuditEvent {
	w.t.Helper()
	driver, dsn := "pgx", w.url
	if path, ok := strings.CutPrefix(w.url, "sqlite://"); ok {
		driver, dsn = "sqlite", "file:"+path
	}
	db, err := sql.Open(driver, dsn)
	must(w.t, err)
	defer db.Close()
	rows, err := db.QueryContext(w.t.Context(), `SELECT action, actor_type, actor_id, target_type, target_id, result, detail
		FROM audit_events WHERE action LIKE 'message.%' OR action LIKE 'batch.%' ORDER BY id`)
	must(w.t, err)
	defer rows.Close()
	var out []postledger.AuditEvent
	for rows.Next() {
		var e postledger.AuditEvent
		must(w.t, rows.Scan(&e.Action, &e.ActorType, &e.ActorID, &e.TargetType, &e.TargetID, &e.Result, &e.Detail))
		out = append(out, e)
	}
	must(w.t, rows.Err())
	return out
}

// settle moves the only delivery of a message to a state, as a worker would.
func (w *world) settle(message postledger.ID, to map[postledger.ID]postledger.Status) {
	w.t.Helper()
	ctx := w.t.Context()
	worker := ledger.Worker{ID: w.ledger.NewID(), Host: "h", BootID: "b", PID: 1, Version: "test"}
	must(w.t, w.ledger.StartWorker(ctx, worker))
	m, ds := w.read(message)
	_, err := w.ledger.Lease(ctx, worker.ID, ledger.Counts{}, []ledger.Want{{
		Key: ledger.ClaimKey{Profile: m.ProfileID, Lane: m.Lane, App: m.AppID}, N: 50,
	}})
	must(w.t, err)
	var ss []ledger.Settlement
	for _, d := range ds {
		status := to[d.ID]
		if status == "" {
			continue
		}
		s := ledger.Settlement{ID: d.ID, Mover: postledger.MoverWorker, To: status, Fence: d.Fence + 1, Owner: worker.ID}
		switch status {
		case postledger.StatusFailed:
			s.Reason = postledger.ReasonRejectedRecipient
		case postledger.StatusUnconfirmed:
			s.Reason = postledger.ReasonNoAnswer
		case postledger.StatusQueued:
			s.Reason, s.Charged, s.Delay = postledger.ReasonDeferred, true, time.Hour
		}
		ss = append(ss, s)
	}
	out, err := w.ledger.Settle(ctx, ss)
	must(w.t, err)
	for i := range out {
		if !out[i].Applied {
			w.t.Fatalf("settle %s as %s: it is %s", ss[i].ID, ss[i].To, out[i].Status)
		}
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// refused checks a refusal's code.
func refused(tb testing.TB, err error, want accept.Code) {
	tb.Helper()
	if got := accept.CodeOf(err); got != want || err == nil {
		tb.Errorf("got %v (code %q), want code %q", err, got, want)
	}
}

func equal[T comparable](tb testing.TB, what string, got, want T) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func sameList[T comparable](tb testing.TB, what string, got, want []T) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: got %v, want %v", what, got, want)
	}
}
