package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

const (
	// manyEvents wait for the dead endpoint in the long form.
	manyEvents = 1_000_000
	// maxToldIn is how soon 95 of 100 events reach the healthy one.
	maxToldIn = 5 * time.Second
	// mostTries at the dead endpoint: those that are under way when its circuit opens,
	// and one at a time after at least 30 s.
	mostTries = 100
)

// However many events wait for an endpoint that does not answer: another of the same app
// hears of its mail at once, the process needs the memory that it needs without, and no
// event is dropped.
func TestEventsOfADeadEndpoint(t *testing.T) {
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) {
			t.Parallel()
			deadEndpoint(t, db, 4000, 200, patience)
		})
	}
}

func TestEventsOfADeadEndpointLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	deadEndpoint(t, "postgres", manyEvents, 1000, 30*time.Minute)
}

func deadEndpoint(t *testing.T, db string, many, told int, patience time.Duration) {
	// More than one endpoint may have in the hot set, and long enough for the process to
	// come to what it needs while so much goes on.
	few := max(2000, many/10)
	p, args := onDatabase(t, db)
	p.env = append(p.env, loopback)
	s, app := relayed(t, p, newRelay(t, sink.Config{}), args...)
	b := &backlogged{t: t, db: db, place: p, app: app, operator: s.operator(t)}
	b.identify(s)
	b.stop(s)
	now := time.Now()
	b.fill(0, few, postledger.StatusSent, now.Add(-4*time.Hour))
	b.fill(few, few+many, postledger.StatusSent, now.Add(-2*time.Hour))

	s = p.start(t)
	app[0], b.operator[0] = "POSTLEDGER_SERVER="+s.api, "POSTLEDGER_SERVER="+s.api
	e := &endpoints{T: t, server: s, app: app, client: s.client(t, app)}
	e.addDead()
	e.healthy = e.add(e.hear)

	e.replay(now.Add(-5*time.Hour), now.Add(-3*time.Hour))
	began := time.Now()
	for e.replays() < 1 && time.Since(began) < patience {
		e.tell(told / 20) // while they are made
	}
	e.awaitReplays(1, patience)
	e.tell(told)
	before := s.peak(t)

	began = time.Now()
	e.replay(now.Add(-3*time.Hour), now.Add(-time.Hour))
	var peaks []int64 // one for each fifteen seconds, in MiB
	for e.replays() < 2 && time.Since(began) < patience {
		e.tell(told / 20)
		if time.Since(began) > time.Duration(len(peaks))*15*time.Second {
			peaks = append(peaks, s.peak(t)>>20)
		}
	}
	e.awaitReplays(2, patience)
	t.Logf("%d events were made in %v; meanwhile the process had at most %d MiB", many, time.Since(began).Round(time.Second), peaks)
	e.tell(told)
	e.judge(few + many)
	after := s.peak(t)
	t.Logf("with %d events for the dead endpoint the process had at most %d MiB, with %d %d MiB", few, before>>20, few+many, after>>20)
	most := before + moreMemory
	if db == "sqlite" {
		most += sqlitePages
	}
	if !raced && after > most {
		t.Errorf("it had %d bytes, more than %d", after, most)
	}
}

// endpoints are an app's: one that is dead and one that is healthy.
type endpoints struct {
	*testing.T
	server        *server
	app           []string
	client        *client.Client
	dead, healthy postledger.ID
	tries         atomic.Int64 // at the dead one
	sent          int          // messages whose events are told

	mu     sync.Mutex
	heard  map[string]time.Duration // by delivery: how long after it had settled
	batchN int
}

// add adds one that does something.
func (e *endpoints) add(do http.HandlerFunc) postledger.ID {
	e.Helper()
	at, _ := answering(e.T, do)
	w, err := e.client.CreateWebhook(e.Context(), client.NewWebhook{URL: at.URL + "/in", States: []postledger.Status{postledger.StatusSent}})
	if err != nil {
		e.Fatal(err)
	}
	return w.ID
}

// addDead adds one whose connections end without an answer.
func (e *endpoints) addDead() {
	e.Helper()
	e.dead = e.add(func(http.ResponseWriter, *http.Request) {
		e.tries.Add(1)
		panic(http.ErrAbortHandler)
	})
}

func (e *endpoints) hear(_ http.ResponseWriter, r *http.Request) {
	var event struct {
		Timestamp time.Time
		Data      struct {
			DeliveryID string `json:"delivery_id"`
		}
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	if err != nil {
		e.Errorf("an event: %v", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.heard == nil {
		e.heard = map[string]time.Duration{}
	}
	if _, again := e.heard[event.Data.DeliveryID]; !again {
		e.heard[event.Data.DeliveryID] = time.Since(event.Timestamp)
	}
}

// replay makes events for the dead one of what was accepted in a time.
func (e *endpoints) replay(since, until time.Time) {
	e.Helper()
	if _, err := e.client.ReplayWebhook(e.Context(), e.dead, client.WebhookRange{Since: since, Until: until}); err != nil {
		e.Fatal(err)
	}
}

func (e *endpoints) replays() int {
	return strings.Count(e.server.logged(), "a replay of webhooks is queued")
}

func (e *endpoints) awaitReplays(n int, patience time.Duration) {
	e.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); e.replays() < n; <-tick.C {
		if time.Now().After(deadline) {
			e.Fatalf("replay %d is not queued within %v: %s", n, patience, e.server.logged())
		}
	}
}

// tell sends messages of which both are told, and waits until the healthy one has heard.
func (e *endpoints) tell(n int) {
	e.Helper()
	e.batchN++
	b := batchOf(n)
	b.Key = fmt.Sprint("told ", e.batchN)
	if _, err := e.client.SendBatch(e.Context(), b); err != nil {
		e.Fatal(err)
	}
	e.sent += n
	eventually(e.T, "the healthy endpoint hears of all", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.heard) == e.sent
	})
}

// judge looks at the end, with so many events made for the dead one beside those told.
func (e *endpoints) judge(made int) {
	e.Helper()
	e.mu.Lock()
	var took []time.Duration
	for _, d := range e.heard {
		took = append(took, d)
	}
	e.mu.Unlock()
	slices.Sort(took)
	p95 := took[len(took)*95/100]
	e.Logf("%d events reached the healthy endpoint: median %v, p95 %v, longest %v after they had settled; the dead one was tried %d times",
		len(took), took[len(took)/2], p95, took[len(took)-1], e.tries.Load())
	if p95 > maxToldIn {
		e.Errorf("p95 is %v, more than %v", p95, maxToldIn)
	}
	if n := e.tries.Load(); n == 0 || n > mostTries {
		e.Errorf("the dead endpoint was tried %d times, want 1 to %d: its circuit opens", n, mostTries)
	}
	if w, err := e.client.Webhook(e.Context(), e.dead); err != nil || w.FailingSince.IsZero() || !w.Enabled {
		e.Errorf("the dead endpoint is %+v (%v)", w, err)
	}
	operator := e.server.client(e.T, e.server.operator(e.T))
	q, err := operator.JobQueue(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	if rows := q.Fast.Waiting + q.Slow.Waiting + q.Scheduled + q.Admitted; rows < int64(made+e.sent) {
		e.Errorf("%d rows of jobs are left, and %d events have not been told: %+v", rows, made+e.sent, q)
	}
	// And whoever looks at what waits gets a page at once.
	began, n := time.Now(), 0
	for _, err := range operator.Jobs(e.Context(), client.JobFilter{State: "buffered", PageSize: 100}) {
		if err != nil {
			e.Fatal(err)
		}
		if n++; n == 1000 {
			break
		}
	}
	e.Logf("ten pages of what waits in %v", time.Since(began).Round(time.Millisecond))
	if each := time.Since(began) / 10; n == 1000 && each > maxPage {
		e.Errorf("a page of what waits took %v", each)
	}
}
