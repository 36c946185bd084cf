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

// Kill -9 of the program that users run, at random moments of accepting,
// sending, starting and recovering: nothing accepted is lost, nothing is sent
// twice, and in doubt is only what was on the wire (invariants 1, 4, 5 and 6).
func TestStorm(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) {
			t.Parallel()
			storm(t, db, 20, 5000)
		})
	}
}

// The long form has deferrals too, which a minute's wait follows. With
// POSTLEDGER_KILLS=n it is n kills over 500 n deliveries on PostgreSQL.
func TestStormLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	if text := os.Getenv("POSTLEDGER_KILLS"); text != "" {
		kills, err := strconv.Atoi(text)
		if err != nil || kills < 1 {
			t.Fatalf("POSTLEDGER_KILLS: want a number of kills, have %q", text)
		}
		storm(t, "postgres", kills, 500*kills, "-defer", "211")
		return
	}
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) { storm(t, db, 20, 5000, "-defer", "211") })
	}
}

const stormConnections = 8

func storm(t *testing.T, db string, kills, deliveries int, sinkArgs ...string) {
	hop := crashtest.StartSink(t, sinkArgs...)
	w := newWeather(t, db, hop)
	w.feed = newFeed(t, deliveries)
	w.check.Connections = stormConnections

	crashtest.Storm(t, kills, deliveries, hop, w.start, w.afterKill)

	last := w.launch()
	<-last.fed
	if n := len(w.feed.todo); n != 0 {
		t.Fatalf("%d requests were not answered: %s", n, last.logged())
	}
	c := last.client(t, w.app)
	w.settled(c)
	ids, doubts := w.list(c)
	if code := last.signal(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d: %s", code, last.logged())
	}
	w.reading(func() {
		states := w.check.End(ids)
		t.Logf("%d kills met %d leased, %d begun and %d answered deliveries, and %d requests were repeated; in the end %v",
			kills, w.check.Leased, w.check.Begun, w.check.Answered, w.feed.repeated, states)
		if w.check.Leased == 0 || states[postledger.StatusFailed] == 0 {
			t.Error("no kill met a lease, or nothing was refused: the test has shown nothing")
		}
	})
	if doubts > stormConnections*kills {
		t.Errorf("%d envelopes are unconfirmed after %d kills of %d connections", doubts, kills, stormConnections)
	}
	books(t, w.place)
}

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
	// Ledger is what the check reads, and only open while it does.
	*ledger.Ledger
	database string // PostgreSQL's URL; "" for SQLite
}

// newWeather makes a ledger whose default profile sends to the hop.
func newWeather(t *testing.T, db string, hop *crashtest.Sink) *weather {
	t.Helper()
	w := &weather{t: t, hop: hop}
	var args []string
	w.place, args = onDatabase(t, db)
	for _, v := range w.env {
		if url, ok := strings.CutPrefix(v, "POSTLEDGER_DATABASE="); ok {
			w.database = url
		}
	}
	s := w.place.start(t, args...)
	operator := s.operator(t)
	command(t, operator, "profiles", "put", "relay", "--from", "shop@example.org", "--transport", "smtp", "--host", "127.0.0.1",
		"--port", strconv.Itoa(hop.Port), "--tls", "none", "--connections", strconv.Itoa(stormConnections)).expect(t, 0)
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
	return w
}

// fedServer is a server that requests are made to from its start to its death.
type fedServer struct {
	*server
	fed chan struct{} // closed when there is nothing to do, or nobody to ask
}

func (w *weather) start() crashtest.Process { return w.launch() }

func (w *weather) launch() *fedServer {
	s, up := w.place.launch(w.t)
	f := &fedServer{s, make(chan struct{})}
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
	return f
}

// Kill is kill -9.
func (f *fedServer) Kill() {
	_ = f.cmd.Process.Kill() // Dead says whether it was alive
	<-f.done
	<-f.fed
}

// Dead is closed when the process has ended.
func (f *fedServer) Dead() <-chan struct{} { return f.done }

// afterKill checks what the kill left. What is queued then was not sent: the
// check of the leases does not see it.
func (w *weather) afterKill() {
	w.t.Helper()
	w.reading(func() {
		w.check.AfterKill()
		copies := w.hop.Copies()
		f := ledger.Filter{App: w.id, Statuses: []postledger.Status{postledger.StatusQueued}}
		for p := (ledger.Paging{Limit: ledger.MaxPage}); ; {
			page, err := w.Deliveries(w.t.Context(), f, p)
			if err != nil {
				w.t.Fatal(err)
			}
			for _, d := range page.Items {
				if copies[d.Address] != 0 {
					w.t.Errorf("%s is queued and is at the hop", d.Address)
				}
			}
			if p.Cursor = page.Next; p.Cursor == "" {
				break
			}
		}
	})
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

// settled waits until nothing is queued or on the wire.
func (w *weather) settled(c *client.Client) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	f := client.DeliveryFilter{Statuses: []postledger.Status{postledger.StatusQueued, postledger.StatusSending}, PageSize: 1}
	for open := true; open; <-tick.C {
		open = false
		for _, err := range c.Deliveries(ctx, f) {
			if err != nil {
				w.t.Fatalf("wait until all is settled: %v", err)
			}
			open = true
			break
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
