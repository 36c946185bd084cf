package main_test

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// B27: a batch that waits for its profile's pace is stopped in the middle, goes
// on, is killed, and goes on. Nothing says it is finished before it is, each
// recipient gets one copy, in doubt is only what was in flight at the kill, and
// the pace holds through all of it.
//
// The case is 500 recipients at 100 a minute, stopped at 230 and killed at 300.
// The short form has half of each, and 24 times the pace: 5 minutes in 6 s.
func TestARestartInTheMiddleOfAPacedBatch(t *testing.T) {
	t.Parallel()
	restartPaced(t, "sqlite", pacedForm{recipients: 250, perMinute: 2400, stopAt: 115, killAt: 150})
}

// The long form is the case as it is.
func TestARestartInTheMiddleOfAPacedBatchLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) {
			t.Parallel()
			restartPaced(t, db, pacedForm{recipients: 500, perMinute: 100, stopAt: 230, killAt: 300})
		})
	}
}

type pacedForm struct{ recipients, perMinute, stopAt, killAt int }

func restartPaced(t *testing.T, db string, f pacedForm) {
	h := newPacedHop(t, f)
	p, args := onDatabase(t, db)
	s := p.start(t, args...)
	h.starts()
	command(t, s.operator(t), "profiles", "put", "relay", "--from", "shop@example.org", "--transport", "smtp",
		"--host", "127.0.0.1", "--port", strconv.Itoa(h.Port()), "--tls", "none",
		"--connections", "8", "--pace-per-minute", strconv.Itoa(f.perMinute)).expect(t, 0)
	app := s.appKey(t, "shop")
	c := s.client(t, app)
	a, err := c.SendBatch(t.Context(), batchOf(f.recipients))
	if err != nil {
		t.Fatal(err)
	}
	w := pacedBatch{t, h, a.BatchID, f}

	w.watch(c, "the batch is to be stopped", func(int) bool { return h.taken() >= f.stopAt })
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.logged())
	}
	taken := h.taken()
	if n := books(t, p); n["sent"] != taken || n["queued"] != f.recipients-taken {
		t.Fatalf("after the stop with %d at the hop: %v", taken, n)
	}

	h.starts()
	s = p.start(t)
	w.watch(s.client(t, app), "the hop owes an answer", func(int) bool { return h.owes() })
	if taken = h.taken(); taken >= f.recipients*3/4 {
		t.Errorf("%d were at the hop before the kill: the pace did not limit", taken)
	}
	s.signal(t, syscall.SIGKILL)

	h.starts()
	s = p.start(t)
	c = s.client(t, app)
	w.watch(c, "nothing of the batch is open", func(open int) bool { return open == 0 })
	w.over(c)
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, s.logged())
	}
	books(t, p)
}

// pacedHop notes when what came, and owes the answer to one final dot for ever.
type pacedHop struct {
	*transporttest.Hop
	owed chan struct{} // closed when it owes one

	mu     sync.Mutex
	began  []time.Time // when each start of the process began
	before []int       // how many were here then
	came   []time.Time
}

func newPacedHop(t *testing.T, f pacedForm) *pacedHop {
	t.Helper()
	h := &pacedHop{owed: make(chan struct{})}
	var dots atomic.Int64
	h.Hop = transporttest.NewHop(t, transporttest.HopConfig{
		Rules: []transporttest.Rule{{
			At:   transporttest.StepDot,
			When: func() bool { return dots.Add(1) == int64(f.killAt) },
			Do:   transporttest.Action{Hook: func() { close(h.owed) }, Keep: true, Hold: make(chan struct{})},
		}},
		OnAccept: func(transporttest.Acceptance) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.came = append(h.came, time.Now())
		},
	})
	return h
}

// starts says that a process is about to begin.
func (h *pacedHop) starts() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began = append(h.began, time.Now())
	h.before = append(h.before, len(h.came))
}

func (h *pacedHop) taken() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.came)
}

func (h *pacedHop) owes() bool {
	select {
	case <-h.owed:
		return true
	default:
		return false
	}
}

// pacedBatch is what is known of the batch.
type pacedBatch struct {
	t    *testing.T
	hop  *pacedHop
	id   postledger.ID
	form pacedForm
}

// watch looks at the batch as its app does, until ok, which is told how many of
// it are open. What it says is finished must be so.
func (w *pacedBatch) watch(c *client.Client, what string, ok func(open int) bool) {
	w.t.Helper()
	limit := time.After(patience + 2*time.Duration(w.form.recipients)*time.Minute/time.Duration(w.form.perMinute))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		open, doubts, sent := 0, 0, map[string]bool{}
		for m, err := range c.Messages(w.t.Context(), client.MessageFilter{Batch: w.id, PageSize: 1000}) {
			if err != nil {
				w.t.Fatalf("wait until %s: %v", what, err)
			}
			if !m.Settled() {
				open++
				if !m.SettledAt.IsZero() {
					w.t.Errorf("%s has settled at %v, and is %s with %v", m.ID, m.SettledAt, m.Status, m.Counts)
				}
			}
		}
		for d, err := range c.Deliveries(w.t.Context(), client.DeliveryFilter{Batch: w.id, PageSize: 1000}) {
			if err != nil {
				w.t.Fatalf("wait until %s: %v", what, err)
			}
			switch d.Status {
			case postledger.StatusSent:
				sent[d.Address] = true
			case postledger.StatusUnconfirmed:
				doubts++
			case postledger.StatusQueued, postledger.StatusSending:
			default:
				w.t.Errorf("%s is %s/%s", d.Address, d.Status, d.Reason)
			}
		}
		if open == 0 && len(sent)+doubts != w.form.recipients {
			w.t.Errorf("all messages are settled, and of %d deliveries %d are sent and %d in doubt", w.form.recipients, len(sent), doubts)
		}
		// The hop is asked afterwards: what is said to be sent is there.
		for _, a := range w.hop.Accepted() {
			delete(sent, a.Recipients[0])
		}
		for who := range sent {
			w.t.Errorf("%s is sent, and the hop does not have it", who)
		}
		if w.t.Failed() {
			w.t.FailNow()
		}
		if ok(open) {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			w.t.Fatalf("%s: it does not happen, %d are open", what, open)
		}
	}
}

// over checks the whole, when nothing is open.
func (w *pacedBatch) over(c *client.Client) {
	w.t.Helper()
	copies := map[string]int{}
	for _, a := range w.hop.Accepted() {
		copies[a.Recipients[0]]++
	}
	doubts := 0
	for d, err := range c.Deliveries(w.t.Context(), client.DeliveryFilter{Batch: w.id, PageSize: 1000}) {
		if err != nil {
			w.t.Fatal(err)
		}
		n := copies[d.Address]
		if d.Status == postledger.StatusUnconfirmed {
			doubts++
		} else if n != 1 {
			w.t.Errorf("%s is %s/%s and has %d copies", d.Address, d.Status, d.Reason, n)
		}
		if n > 1 || d.Attempts != 1 {
			w.t.Errorf("%s is %s/%s, attempt %d, and has %d copies", d.Address, d.Status, d.Reason, d.Attempts, n)
		}
	}
	const connections = 8
	if doubts < 1 || doubts > connections {
		w.t.Errorf("%d are unconfirmed, want what was in flight: at least the one whose answer is owed, at most %d", doubts, connections)
	}
	w.pace(doubts)
}

// pace checks that each process sent what its time gives, and one that a start
// gives: at every recipient of every stretch since a start, and so over the whole.
func (w *pacedBatch) pace(doubts int) {
	w.t.Helper()
	h := w.hop
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.came[len(h.came)-1]
	w.t.Logf("%d recipients at %d a minute in %v over %d starts, %d in doubt",
		len(h.came), w.form.perMinute, last.Sub(h.began[0]).Round(time.Millisecond), len(h.began), doubts)
	for life, began := range h.began {
		first, end := h.before[life], len(h.came)
		if life+1 < len(h.began) {
			end = h.before[life+1]
		}
		for i := first; i < end; i++ {
			gives := 1 + h.came[i].Sub(began).Minutes()*float64(w.form.perMinute)
			if n := i + 1 - first; float64(n) > gives {
				w.t.Fatalf("start %d: %d recipients after %v, the pace gives %.1f", life+1, n, h.came[i].Sub(began), gives)
			}
		}
	}
}
