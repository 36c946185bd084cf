package main_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/crashtest"
)

// Kill -9 of the program that users run, at random moments of accepting,
// sending, starting and recovering: nothing accepted is lost, nothing is sent
// twice, and in doubt is only what was on the wire (invariants 1, 4, 5 and 6).
func TestStorm(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) {
			t.Parallel()
			storm(t, stormForm{db: db, kills: 20, deliveries: 5000})
		})
	}
}

// The long form has deferrals too, which a minute's wait follows.
func TestStormLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) { storm(t, longStorm(t, stormForm{db: db})) })
	}
}

// Two processes on one ledger, each killed at its own random moments.
func TestStormOfTwoProcesses(t *testing.T) {
	t.Parallel()
	storm(t, stormForm{db: "postgres", processes: 2, kills: 12, deliveries: 3000})
}

func TestStormOfTwoProcessesLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	storm(t, longStorm(t, stormForm{db: "postgres", processes: 2}))
}

// Where the profile's policy is to send again what is unconfirmed, an address
// has two copies only if the ledger says that it may.
func TestStormThatResends(t *testing.T) {
	t.Parallel()
	storm(t, stormForm{db: "sqlite", resends: true, kills: 8, deliveries: 1500})
}

func TestStormThatResendsLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	t.Run("sqlite", func(t *testing.T) { storm(t, longStorm(t, stormForm{db: "sqlite", resends: true})) })
	t.Run("two processes on postgres", func(t *testing.T) {
		storm(t, longStorm(t, stormForm{db: "postgres", processes: 2, resends: true}))
	})
}

// stormForm is what a storm is made of.
type stormForm struct {
	db                string
	processes         int // 0 is one
	kills, deliveries int
	resends           bool
	// earlier, if any, is the binary of the first process, and makes the ledger.
	earlier string
	sink    []string
}

// longStorm gives a form its long size: 20 kills over 5,000 deliveries, or with
// POSTLEDGER_KILLS=n that many over 500 for each on PostgreSQL and 150 on SQLite.
func longStorm(t *testing.T, f stormForm) stormForm {
	t.Helper()
	f.sink = []string{"-defer", "211"}
	f.kills, f.deliveries = 20, 5000
	if text := os.Getenv("POSTLEDGER_KILLS"); text != "" {
		var err error
		if f.kills, err = strconv.Atoi(text); err != nil || f.kills < 1 {
			t.Fatalf("POSTLEDGER_KILLS: want a number of kills, have %q", text)
		}
		f.deliveries = f.kills * map[string]int{"sqlite": 150, "postgres": 500}[f.db]
	}
	return f
}

const stormConnections = 8

func storm(t *testing.T, f stormForm) {
	hop := crashtest.StartSink(t, append([]string{"-wants", inEach}, f.sink...)...)
	w := newWeather(t, f, hop)
	w.feed = newFeed(t, f.deliveries)

	living := crashtest.Storm(t, hop, crashtest.Plan{
		Kills: f.kills, Deliveries: f.deliveries, Start: w.start, Places: f.processes, AfterKill: w.afterKill, Left: w.left,
	})
	var last *fedServer // by this binary
	for _, p := range living {
		last = p.(*fedServer)
		<-last.fed
	}
	if n := len(w.feed.todo); n != 0 {
		t.Fatalf("%d requests were not answered: %s", n, last.logged())
	}
	c := last.client(t, w.app)
	w.settled(c)
	ids, doubts := w.list(c)
	for _, p := range living {
		s := p.(*fedServer)
		if code := s.signal(t, syscall.SIGTERM); code != 0 {
			t.Fatalf("exit code %d: %s", code, s.logged())
		}
	}
	var end crashtest.Ending
	w.reading(func() { end = w.check.End(ids) })
	t.Logf("%d kills met %d leased, %d begun and %d answered deliveries, and %d requests were repeated; in the end %v, %d resent, %d of them twice at the hop",
		f.kills, w.check.Leased, w.check.Begun, w.check.Answered, w.feed.repeated, end.States, end.Resent, end.Doubled)
	if w.check.Leased == 0 || end.States[postledger.StatusFailed] == 0 || f.resends && end.Resent == 0 {
		t.Error("no kill met a lease, or nothing was refused or resent: the test has shown nothing")
	}
	if n := w.feed.refused(); end.States[postledger.StatusFailed] > n {
		t.Errorf("%d failed, and the hop refuses %d addresses", end.States[postledger.StatusFailed], n)
	}
	if !f.resends && end.Resent != 0 {
		t.Errorf("%d were sent again, and nobody allowed it", end.Resent)
	}
	// Each kill leaves in doubt one envelope a connection, of one to five.
	if doubts > stormConnections*f.kills {
		t.Errorf("%d envelopes are unconfirmed after %d kills of %d connections", doubts, f.kills, stormConnections)
	}
	if end.Resent > maxRecipients*stormConnections*f.kills {
		t.Errorf("%d were sent again after %d kills of %d connections", end.Resent, f.kills, stormConnections)
	}
	books(t, w.place)
}
