package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/api"
	"github.com/postledger/postledger/internal/app/hop"
	"github.com/postledger/postledger/internal/blob/dir"
	"github.com/postledger/postledger/internal/deliver/health"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/internal/settle"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/internal/transport"
	"github.com/postledger/postledger/internal/transport/sandbox"
	"github.com/postledger/postledger/internal/webhook"
	"github.com/postledger/postledger/jobs"
)

// world is the API on a real ledger and a real blob store, with an app that
// has a key of each kind, another app, and an operator.
type world struct {
	t       *testing.T
	http    *httptest.Server
	ledger  *ledger.Ledger
	blobs   *dir.Store
	waiters *accept.Waiters
	kept    *sandbox.Transport
	factory *hop.Factory
	log     *logBuffer

	app, other          postledger.App
	send, read, content string // the app's keys, each with one scope
	foreign             string // the other app's, with every scope of an app's key
	admin, audit        string // operators'
	profile             postledger.Profile
	clock               *clock
	notReady            error
	worker              postledger.ID
	outbox              jobs.Outbox

	mu      sync.Mutex
	woke    []ledger.ClaimKey
	changed int
	jobs    []jobs.Job

	desk *webhook.Desk
}

// logBuffer takes the log of several goroutines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// clock is the API's, not the ledger's: limits and caches go by it.
type clock struct {
	mu  sync.Mutex
	add time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.add)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add += d
}

func sqlite(t *testing.T, change ...func(*api.Config)) *world {
	t.Helper()
	return newWorld(t, "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"), change...)
}

// manySources makes each request come from another source: the limit on failed
// logins then never applies.
func manySources(c *api.Config) {
	var n atomic.Int64
	c.Source = func(*http.Request) string { return strconv.FormatInt(n.Add(1), 10) }
}

// backends runs a test on each database.
func backends(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, sqlite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, newWorld(t, testserver.Postgres(t))) })
}

// run is t.Run for tests that share the world one after the other.
func (w *world) run(name string, test func(t *testing.T)) {
	outer := w.t
	defer func() { w.t = outer }()
	outer.Run(name, func(t *testing.T) {
		w.t = t
		test(t)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newWorld(t *testing.T, url string, change ...func(*api.Config)) *world {
	t.Helper()
	w := &world{t: t, log: &logBuffer{}, clock: &clock{}}
	var err error
	w.ledger, err = ledger.Open(t.Context(), url, ledger.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, w.ledger.Close()) })
	must(t, w.ledger.Migrate(t.Context()))
	w.blobs, err = dir.Open(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, w.blobs.Close()) })
	w.kept, err = sandbox.New(sandbox.Config{})
	must(t, err)
	ring, err := secret.ParseKeyring(secret.Generate())
	must(t, err)
	log := slog.New(slog.NewJSONHandler(w.log, nil))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	w.furnishDesk(ring, log)
	w.factory = hop.New(ring, w.kept, log)
	wake := func(keys []ledger.ClaimKey) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.woke = append(w.woke, keys...)
	}
	w.waiters = accept.NewWaiters(w.ledger, log)
	t.Cleanup(w.waiters.Close)
	c := api.Config{
		Ledger: w.ledger,
		Acceptor: accept.New(accept.Config{
			Ledger: w.ledger, Blobs: w.blobs, Backlog: accept.NewEstimate(w.ledger, nil), Wake: wake, Log: log,
			Capabilities: func(*postledger.Profile) transport.Capabilities { return w.kept.Capabilities() },
		}),
		Operator: settle.NewOperator(w.ledger, wake), Waiter: w.waiters, Profiles: profiles{w}, Webhooks: w.desk, Sandbox: w.kept, Readiness: ready{w},
		Audiences: w.audiences(log), Jobs: w.queue(log),
		Changed: func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.changed++
		},
		Now: w.clock.now, Log: log, KeyRate: 10_000, KeyBurst: 20_000,
	}
	for _, f := range change {
		f(&c)
	}
	handler, err := api.New(c)
	must(t, err)
	w.http = httptest.NewServer(handler)
	t.Cleanup(w.http.Close)
	w.furnish()
	return w
}

func (w *world) furnish() {
	w.t.Helper()
	w.app, w.other = w.newApp("shop"), w.newApp("forum")
	w.send = w.key(w.app.ID, postledger.ScopeSend)
	w.read = w.key(w.app.ID, postledger.ScopeRead)
	w.content = w.key(w.app.ID, postledger.ScopeContent)
	w.foreign = w.key(w.other.ID, postledger.ScopeSend, postledger.ScopeRead, postledger.ScopeContent)
	w.admin = w.key(postledger.ID{}, postledger.ScopeAdmin)
	w.audit = w.key(postledger.ID{}, postledger.ScopeAudit)
	var err error
	w.profile, err = w.ledger.PutProfile(w.t.Context(), postledger.Profile{
		Name: "main", IsDefault: true,
		Config: postledger.ProfileConfig{From: "desk@send.test", Transport: "sandbox", Connections: 2},
	}, 0, w.did("profile.put"))
	must(w.t, err)
	w.worker = w.ledger.NewID()
	must(w.t, w.ledger.StartWorker(w.t.Context(), ledger.Worker{ID: w.worker, Host: "test", BootID: "boot", PID: 1, Version: "test"}))
}

func (w *world) did(action string) postledger.AuditEvent {
	return postledger.AuditEvent{ID: w.ledger.NewID(), Action: action, Result: "done"}
}

func (w *world) newApp(name string) postledger.App {
	w.t.Helper()
	a := postledger.App{ID: w.ledger.NewID(), Name: name}
	must(w.t, w.ledger.CreateApp(w.t.Context(), a, w.did("app.create")))
	return a
}

func (w *world) key(app postledger.ID, scopes ...postledger.Scope) string {
	w.t.Helper()
	token, _ := w.keyUntil(app, time.Time{}, scopes...)
	return token
}

func (w *world) keyUntil(app postledger.ID, expires time.Time, scopes ...postledger.Scope) (string, postledger.ID) {
	w.t.Helper()
	token, sum := secret.NewToken("test")
	k := postledger.APIKey{ID: w.ledger.NewID(), AppID: app, Name: "test", Scopes: scopes, Hint: token[len(token)-4:], ExpiresAt: expires}
	must(w.t, w.ledger.CreateAPIKey(w.t.Context(), k, sum, w.did("key.create")))
	return token, k.ID
}

// profiles adapts the factory as the wiring does.
type profiles struct{ w *world }

func (p profiles) Seal(was, changed postledger.Profile, s api.ProfileSecrets) ([]byte, error) {
	box, err := p.w.factory.Seal(was, changed, hop.Change{Password: s.Password, DKIMKey: s.DKIMKey})
	return box, profileError(err)
}

func (p profiles) Check(c postledger.Profile) error { return profileError(p.w.factory.Check(c)) }

func (p profiles) Has(c *postledger.Profile) (password, dkimKey bool) { return hop.Has(c) }

func (p profiles) Health(id postledger.ID) (health.Snapshot, bool) {
	return health.Snapshot{}, id == p.w.profile.ID
}

func profileError(err error) error {
	var f *hop.FieldError
	if errors.As(err, &f) {
		return &api.ProfileError{Field: f.Field, Rule: f.Rule}
	}
	return err
}

type ready struct{ w *world }

func (r ready) Ready(context.Context) error { return r.w.notReady }

// answer is what came back.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
	tree   map[string]any
}

// call makes a request with a JSON body: a text as it is, anything else encoded.
func (w *world) call(method, path, token string, body any, headers ...string) *answer {
	w.t.Helper()
	var r io.Reader
	contentType := ""
	switch b := body.(type) {
	case nil:
	case io.Reader:
		r = b
	case string:
		r, contentType = strings.NewReader(b), "application/json"
	default:
		text, err := json.Marshal(b)
		must(w.t, err)
		r, contentType = bytes.NewReader(text), "application/json"
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.http.URL+path, r)
	must(w.t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return w.do(req)
}

func (w *world) do(req *http.Request) *answer {
	w.t.Helper()
	resp, err := w.http.Client().Do(req)
	must(w.t, err)
	defer resp.Body.Close()
	a := &answer{t: w.t, status: resp.StatusCode, header: resp.Header}
	a.body, err = io.ReadAll(resp.Body)
	must(w.t, err)
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		must(w.t, json.Unmarshal(a.body, &a.tree))
	}
	if a.header.Get("X-Request-Id") == "" {
		w.t.Errorf("%s %s: the answer has no request id", req.Method, req.URL.Path)
	}
	checkAnswer(w.t, req, a)
	return a
}

// want demands a status.
func (a *answer) want(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// refused demands a problem document with a code and, if given, a field with a
// rule ("subject too_long").
func (a *answer) refused(code string, fields ...string) *answer {
	a.t.Helper()
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		a.t.Fatalf("Content-Type %q, status %d: %s", ct, a.status, a.body)
	}
	if a.text("code") != code {
		a.t.Fatalf("code %q, want %q: %s", a.text("code"), code, a.body)
	}
	for _, e := range api.Errors() {
		if string(e.Code) == code && e.Status != a.status {
			a.t.Errorf("%s: status %d, want %d", code, a.status, e.Status)
		}
	}
	if a.text("request_id") != a.header.Get("X-Request-Id") {
		a.t.Errorf("request_id %q is not the header's", a.text("request_id"))
	}
	var got []string
	list, _ := a.tree["errors"].([]any)
	for _, e := range list {
		m := e.(map[string]any)
		got = append(got, strings.TrimSpace(m["field"].(string)+" "+m["rule"].(string)))
		if m["message"] == "" {
			a.t.Errorf("%v has no message", m)
		}
	}
	for _, f := range fields {
		found := false
		for _, g := range got {
			found = found || g == f
		}
		if !found {
			a.t.Errorf("errors %q, want %q", got, f)
		}
	}
	return a
}

// at walks into the answer: names and indexes.
func (a *answer) at(path ...any) any {
	a.t.Helper()
	var v any = a.tree
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				a.t.Fatalf("%v: no object at %q: %s", path, p, a.body)
			}
			v = m[p]
		case int:
			l, ok := v.([]any)
			if !ok || p >= len(l) {
				a.t.Fatalf("%v: no entry %d: %s", path, p, a.body)
			}
			v = l[p]
		}
	}
	return v
}

func (a *answer) text(path ...any) string {
	a.t.Helper()
	s, _ := a.at(path...).(string)
	return s
}

func (a *answer) number(path ...any) int {
	a.t.Helper()
	n, ok := a.at(path...).(float64)
	if !ok {
		a.t.Fatalf("%v is no number: %s", path, a.body)
	}
	return int(n)
}

func (a *answer) id(path ...any) postledger.ID {
	a.t.Helper()
	id, err := postledger.ParseID(a.text(path...))
	must(a.t, err)
	return id
}

// letter is a good message.
func letter(to ...string) map[string]any {
	if len(to) == 0 {
		to = []string{"ada@in.test"}
	}
	var list []any
	for _, a := range to {
		list = append(list, map[string]any{"address": a})
	}
	return map[string]any{"to": list, "subject": "Hello", "text": "Good day."}
}

func with(m map[string]any, pairs ...any) map[string]any {
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

// sent posts a message and returns its id.
func (w *world) sent(m map[string]any) postledger.ID {
	w.t.Helper()
	return w.call("POST", "/v1/messages", w.send, m).want(http.StatusAccepted).id("id")
}

// lease takes up to n deliveries of the app's profile, as a worker does.
func (w *world) lease(lane postledger.Lane, n int) []ledger.Leased {
	w.t.Helper()
	got, err := w.ledger.Lease(w.t.Context(), w.worker, ledger.Counts{}, []ledger.Want{{
		Key: ledger.ClaimKey{Profile: w.profile.ID, Lane: lane, App: w.app.ID}, N: n,
	}})
	must(w.t, err)
	var out []ledger.Leased
	for _, c := range got {
		out = append(out, c.Leased...)
	}
	return out
}

// settles ends leases in a state.
func (w *world) settles(leased []ledger.Leased, to postledger.Status, reason postledger.Reason) {
	w.t.Helper()
	var ss []ledger.Settlement
	var ids []postledger.ID
	for _, l := range leased {
		ss = append(ss, ledger.Settlement{
			ID: l.ID, Fence: l.Fence, Mover: postledger.MoverWorker, To: to, Reason: reason, Charged: true,
			Response: "550 5.1.1 {rcpt} is not here", Event: &ledger.Event{Kind: "refused", Phase: postledger.PhaseRcpt, Code: 550},
		})
		ids = append(ids, l.MessageID)
	}
	out, err := w.ledger.Settle(w.t.Context(), ss)
	must(w.t, err)
	for i := range out {
		if !out[i].Applied {
			w.t.Fatalf("settle %d was refused: %+v", i, out[i])
		}
	}
	w.waiters.Notify(ids...)
}

// audited are the actions and results in the audit trail, newest first.
func (w *world) audited() []postledger.AuditEvent {
	w.t.Helper()
	p, err := w.ledger.Audit(w.t.Context(), ledger.AuditFilter{}, ledger.Paging{Limit: 1000})
	must(w.t, err)
	return p.Items
}

// lastAudit is the newest line with an action.
func (w *world) lastAudit(action string) (postledger.AuditEvent, bool) {
	w.t.Helper()
	for _, e := range w.audited() {
		if e.Action == action {
			return e, true
		}
	}
	return postledger.AuditEvent{}, false
}
