package main_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/deliver/crashtest"
	"github.com/postledger/postledger/internal/ledger"
)

// weather is where the storm rages.
type weather struct {
	place
	t    *testing.T
	feed *feed
	// app is the environment of the app's key; id is the app's.
	app   []string
	id    postledger.ID
	check *crashtest.Check
	hop   *crashtest.Sink
	form  stormForm
	kills int // looked at so far
	// servers are the newest of each place.
	servers []*fedServer
	// Ledger is what the check reads, and only open while it does.
	*ledger.Ledger
	database string // PostgreSQL's URL; "" for SQLite
}

// newWeather makes a ledger whose default profile sends to the hop.
func newWeather(t *testing.T, f stormForm, hop *crashtest.Sink) *weather {
	t.Helper()
	w := &weather{t: t, hop: hop, form: f}
	var args []string
	w.place, args = onDatabase(t, f.db)
	for _, v := range w.env {
		if url, ok := strings.CutPrefix(v, "POSTLEDGER_DATABASE="); ok {
			w.database = url
		}
	}
	s, up := w.place.launchProgram(t, w.program(0), args...)
	select {
	case <-up:
	case <-s.done:
		t.Fatalf("it ended: %s", s.logged())
	}
	if f.earlier != "" {
		w.run(t, "migrate", "up").expect(t, 0) // beside the process that is there
	}
	operator := s.operator(t)
	policy := postledger.UnconfirmedHold
	if f.resends {
		policy = postledger.UnconfirmedResend
	}
	command(t, operator, "profiles", "put", "relay", "--from", "shop@example.org", "--transport", "smtp", "--host", "127.0.0.1",
		"--port", strconv.Itoa(hop.Port), "--tls", "none", "--connections", strconv.Itoa(stormConnections),
		"--on-unconfirmed", string(policy)).expect(t, 0)
	w.app = s.appKey(t, "shop")
	apps, err := s.client(t, operator).Apps(t.Context())
	if err != nil || len(apps) != 1 {
		t.Fatalf("apps: %v, %v", apps, err)
	}
	w.id = apps[0].ID
	if code := s.signal(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.logged())
	}
	w.check = crashtest.NewCheck(t, w, hop, filepath.Join(w.dir, "journal"))
	w.check.Connections, w.check.Resends = stormConnections, f.resends
	return w
}

// program is the binary of the process at a place.
func (w *weather) program(place int) string {
	if place == 0 && w.form.earlier != "" {
		return w.form.earlier
	}
	return binary
}

// fedServer is a server that requests are made to from its start to its death.
type fedServer struct {
	*server
	fed chan struct{} // closed when there is nothing to do, or nobody to ask
	up  chan struct{} // closed when it can be asked
}

func (w *weather) start(place int) crashtest.Process {
	s, up := w.place.launchProgram(w.t, w.program(place))
	f := &fedServer{s, make(chan struct{}), up}
	go func() {
		defer close(f.fed)
		select {
		case <-up:
			w.feed.give(w.t, s.api, w.app, f.done)
		case <-f.done:
		}
	}()
	w.t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		<-f.fed
		if <-s.done; w.t.Failed() && s.cmd.ProcessState.ExitCode() > 0 {
			w.t.Logf("it ended by itself: %s", s.logged())
		}
	})
	for len(w.servers) <= place {
		w.servers = append(w.servers, nil)
	}
	w.servers[place] = f
	return f
}

// left says whether a kill can still meet work: something is not accepted yet,
// or a living server has what is due, on the wire or to be sent again. One that
// cannot answer, such as one that is starting, may have; what the hop put off
// waits for its time, and nothing happens until then.
func (w *weather) left() bool {
	if w.feed.open.Load() > 0 {
		return true
	}
	for _, s := range w.servers {
		select {
		case <-s.up:
			return w.busy(s)
		default:
		}
	}
	return true
}

// busy says whether the ledger has something to do, as one server knows it.
func (w *weather) busy(s *fedServer) bool {
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
	defer cancel()
	f := client.DeliveryFilter{Statuses: []postledger.Status{postledger.StatusQueued, postledger.StatusSending}, PageSize: 1000}
	if w.form.resends {
		f.Statuses = append(f.Statuses, postledger.StatusUnconfirmed)
	}
	for d, err := range s.client(w.t, w.app).Deliveries(ctx, f) {
		switch {
		case err != nil:
			return true
		case held(&d), d.Status == postledger.StatusQueued && d.DueAt.After(time.Now()):
		default:
			return true
		}
	}
	return false
}

// held says that a delivery was in doubt again after it was sent again: the policy
// does so once.
func held(d *client.ListedDelivery) bool {
	return d.Status == postledger.StatusUnconfirmed && d.Resent
}

// Kill is kill -9.
func (f *fedServer) Kill() {
	_ = f.cmd.Process.Kill() // Dead says whether it was alive
	<-f.done
	<-f.fed
}

// Dead is closed when the process has ended.
func (f *fedServer) Dead() <-chan struct{} { return f.done }

// PID is the process's number.
func (f *fedServer) PID() int { return f.cmd.Process.Pid }

// booksEvery is after how many kills of a storm the books are audited.
const booksEvery = 10

// afterKill checks what the kill left. What is queued then was not sent: the
// check of the leases does not see it.
func (w *weather) afterKill(living []crashtest.Process) {
	w.t.Helper()
	w.reading(func() {
		w.check.AfterKill(living...)
		if w.kills++; w.kills%booksEvery == 0 {
			w.audit()
		}
		copies := w.hop.Copies()
		f := ledger.Filter{App: w.id, Statuses: []postledger.Status{postledger.StatusQueued}}
		for p := (ledger.Paging{Limit: ledger.MaxPage}); ; {
			page, err := w.Deliveries(w.t.Context(), f, p)
			if err != nil {
				w.t.Fatal(err)
			}
			for _, d := range page.Items {
				if n := copies[d.Address]; n >= w.check.Allowed(d.ID, d.Resent) {
					w.t.Errorf("%s is queued and is at the hop %d times", d.Address, n)
				}
			}
			if p.Cursor = page.Next; p.Cursor == "" {
				break
			}
		}
	})
}

// audit checks that the books balance in the middle of it.
func (w *weather) audit() {
	w.t.Helper()
	r, err := w.Books(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(r.Differences) > 0 || r.Totals.Sum() != r.Totals.Accepted {
		w.t.Errorf("the books do not balance after %d looks: %+v, %+v", w.kills, r.Totals, r.Differences)
	}
}

// reading opens the ledger while fn runs. Of SQLite's it opens a copy, so that
// it is the program which meets the files as the kill left them.
func (w *weather) reading(fn func()) {
	w.t.Helper()
	url := w.database
	if url == "" {
		dir, err := os.MkdirTemp(w.t.TempDir(), "copy-")
		if err != nil {
			w.t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		name := filepath.Join(dir, "postledger.db")
		for _, suffix := range []string{"", "-wal"} {
			b, err := os.ReadFile(w.place.database() + suffix)
			if suffix != "" && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				err = os.WriteFile(name+suffix, b, 0o600)
			}
			if err != nil {
				w.t.Fatal(err)
			}
		}
		url = "sqlite://" + name
	}
	var err error
	if w.Ledger, err = ledger.Open(w.t.Context(), url, ledger.Options{Connections: 4}); err != nil {
		w.t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			w.t.Error(err)
		}
	}()
	fn()
}

// settled waits until nothing is queued or on the wire, nor to be sent again.
func (w *weather) settled(c *client.Client) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	f := client.DeliveryFilter{Statuses: []postledger.Status{postledger.StatusQueued, postledger.StatusSending}, PageSize: 100}
	if w.form.resends {
		f.Statuses = append(f.Statuses, postledger.StatusUnconfirmed)
	}
	for open := true; open; <-tick.C {
		open = false
		for d, err := range c.Deliveries(ctx, f) {
			if err != nil {
				w.t.Fatalf("wait until all is settled: %v", err)
			}
			if !held(&d) {
				open = true
				break
			}
		}
	}
}

// list returns every delivery's id and the number of envelopes in doubt. What
// was accepted is there, once, and nothing else.
func (w *weather) list(c *client.Client) (ids []postledger.ID, doubts int) {
	w.t.Helper()
	missing := map[string]bool{}
	for _, a := range w.feed.addresses {
		missing[a] = true
	}
	doubtful := map[postledger.ID]bool{}
	for d, err := range c.Deliveries(w.t.Context(), client.DeliveryFilter{PageSize: 1000}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if !missing[d.Address] {
			w.t.Errorf("%s is in the ledger twice, or without being asked for", d.Address)
		}
		delete(missing, d.Address)
		ids = append(ids, d.ID)
		if d.Status == postledger.StatusUnconfirmed {
			doubtful[d.EnvelopeID] = true
		}
	}
	for a := range missing {
		w.t.Errorf("%s was accepted and is lost", a)
	}
	return ids, len(doubtful)
}
