package main_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/client"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/transporttest/sink"
)

// However much waits (invariants 8 and 9): the program starts in three seconds,
// needs the memory that it needs without, sends an immediate message within a
// second on the profile whose connections the backlog fills, and neither a page
// of a list nor a step of retention takes more than 200 ms.
func TestABacklog(t *testing.T) {
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) {
			backlog(t, db, backlogForm{few: 4000, waiting: 20_000, page: 50})
		})
	}
}

// A million on PostgreSQL and 300,000 on SQLite, all due.
func TestABacklogLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	for db, waiting := range map[string]int{"sqlite": 300_000, "postgres": 1_000_000} {
		t.Run(db, func(t *testing.T) {
			backlog(t, db, backlogForm{few: 60_000, waiting: waiting, page: 1000, alone: true})
		})
	}
}

const (
	// oldSent is how much has been sent long ago, and may go.
	oldSent = 5000

	maxStart     = 3 * time.Second
	maxImmediate = time.Second
	maxPage      = 200 * time.Millisecond
	// moreMemory is what chance adds from one run to the next: a collection of
	// garbage sooner or later.
	moreMemory = 16 << 20
	// sqlitePages are those of an embedded ledger that a process keeps: 32 MiB of
	// the writer's and 4 of each of four readers. A small ledger has not so many.
	sqlitePages = 48 << 20
)

// backlogForm is how large it is.
type backlogForm struct {
	// few is a backlog that nobody would notice; on SQLite the long form's is
	// one whose pages fill the caches.
	few, waiting int
	// page is how long a list's pages are.
	page int
	// alone: nothing else is to run on the machine meanwhile.
	alone bool
}

func backlog(t *testing.T, db string, f backlogForm) {
	// 8 connections, busy with one message for 40 ms each: 200 a second, so that
	// there is a backlog all the time.
	r := newRelay(t, sink.Config{LateEvery: 1, Late: 40 * time.Millisecond})
	p, args := onDatabase(t, db)
	s, app := relayed(t, p, r, args...)
	b := &backlogged{t: t, db: db, form: f, place: p, relay: r, app: app, operator: s.operator(t)}
	b.identify(s)
	b.stop(s)

	b.fill(0, f.few, postledger.StatusQueued, time.Now().Add(-time.Minute))
	s = p.start(t)
	few := b.measure(s)
	b.stop(s)

	b.fill(f.few, f.waiting, postledger.StatusQueued, time.Now().Add(-time.Minute))
	s = b.starts()
	many := b.measure(s)
	t.Logf("with %d waiting the process had at most %d MiB, with %d %d MiB", f.few, few>>20, f.waiting, many>>20)
	most := few + moreMemory
	if db == "sqlite" && f.few < 60_000 {
		most += sqlitePages
	}
	if !raced && many > most {
		t.Errorf("with %d waiting it had %d bytes, more than %d", f.waiting, many, most)
	}
	if db == "sqlite" { // whose only writer is the server
		b.stop(s)
	}
	// Now, for a server begins with what retention has to do.
	b.fill(f.waiting, f.waiting+oldSent, postledger.StatusSent, time.Now().AddDate(0, 0, -100))
	b.retention()
}

// backlogged is a ledger whose default profile has a backlog.
type backlogged struct {
	t             *testing.T
	db            string
	form          backlogForm
	place         place
	relay         *relay
	app, operator []string
	appID         postledger.ID
	profile       postledger.ID
	sent          int           // immediate messages so far
	slowest       time.Duration // of the pages of lists
}

// identify learns the ids of the app and the profile.
func (b *backlogged) identify(s *server) {
	b.t.Helper()
	c := s.client(b.t, b.operator)
	apps, err := c.Apps(b.t.Context())
	if err != nil || len(apps) != 1 {
		b.t.Fatalf("apps: %v, %v", apps, err)
	}
	b.appID = apps[0].ID
	p, err := c.Profile(b.t.Context(), "relay")
	if err != nil {
		b.t.Fatal(err)
	}
	b.profile = p.ID
}

func (b *backlogged) stop(s *server) {
	b.t.Helper()
	if code := s.signal(b.t, syscall.SIGTERM); code != 0 {
		b.t.Fatalf("exit code %d: %s", code, s.logged())
	}
}

// url is the ledger's.
func (b *backlogged) url() string {
	for _, v := range b.place.env {
		if url, ok := strings.CutPrefix(v, "POSTLEDGER_DATABASE="); ok {
			return url
		}
	}
	return "sqlite://" + b.place.database()
}

// fill writes rows that were due, or sent, at a time.
func (b *backlogged) fill(from, to int, status postledger.Status, at time.Time) {
	b.t.Helper()
	began := time.Now()
	f := ledgertest.Fill{
		From: from, To: to, App: b.appID, Profile: b.profile,
		Lane: postledger.LaneBulk, Status: status, Group: 1, Due: at.UnixMicro(), Since: at,
	}
	if b.db == "postgres" {
		ledgertest.FillPostgres(b.t, b.url(), f)
	} else {
		ledgertest.FillSQLite(b.t, b.place.database(), f)
	}
	b.t.Logf("%d rows in %v", to-from, time.Since(began).Round(time.Millisecond))
}

// starts starts the server and kills it in the middle of the backlog, and does it
// again while it was slow, five times at most. The fastest start counts: what else
// the machine does can only make it slower.
func (b *backlogged) starts() *server {
	b.t.Helper()
	const fewest, most = 2, 5
	var took []time.Duration
	for {
		had := b.relay.sink.Counts().Messages
		began := time.Now()
		s := b.place.start(b.t)
		took = append(took, time.Since(began))
		b.busy(had)
		if len(took) == most || len(took) >= fewest && slices.Min(took) <= maxStart {
			b.t.Logf("starts with the backlog: %v", took)
			if slices.Min(took) > maxStart {
				b.t.Errorf("starts took %v", took)
			}
			return s
		}
		s.signal(b.t, syscall.SIGKILL)
	}
}

// busy waits until the hop has had more of the backlog, on all connections.
func (b *backlogged) busy(had int64) {
	b.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for b.relay.sink.Counts().Messages < had+50 {
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatal("the backlog does not leave")
		}
	}
}

// measure uses the server while the backlog leaves, and returns the most memory
// that it has had.
func (b *backlogged) measure(s *server) int64 {
	b.t.Helper()
	b.busy(b.relay.sink.Counts().Messages)
	b.immediate(s)
	b.slowest = 0
	for _, l := range backlogLists {
		b.list(s, l)
	}
	b.t.Logf("the slowest page of %d lists: %v", len(backlogLists), b.slowest.Round(time.Millisecond))
	b.immediate(s)
	return s.peak(b.t)
}

// immediate sends some messages, one after the other, and waits for each.
func (b *backlogged) immediate(s *server) {
	b.t.Helper()
	c := s.client(b.t, b.app)
	var took []time.Duration
	for range 15 {
		b.sent++
		m := &client.Message{To: client.To(fmt.Sprintf("now%d@example.com", b.sent)), Subject: "Code", Text: "123456\n"}
		began := time.Now()
		a, err := c.Send(b.t.Context(), m, client.Wait(client.MaxWait))
		if err != nil {
			b.t.Fatal(err)
		}
		took = append(took, time.Since(began))
		if a.Status != postledger.StatusSent {
			b.t.Errorf("an immediate message is %s after %v", a.Status, took[len(took)-1])
		}
	}
	slices.Sort(took)
	b.t.Logf("immediate beside the backlog: median %v, longest %v", took[len(took)/2], took[len(took)-1])
	if longest := took[len(took)-1]; longest > maxImmediate {
		b.t.Errorf("an immediate message took %v", longest)
	}
}

// retention removes what is old, in steps, and looks past all that waits.
func (b *backlogged) retention() {
	b.t.Helper()
	ctx := b.t.Context()
	l, err := ledger.Open(ctx, b.url(), ledger.Options{Connections: 2})
	if err != nil {
		b.t.Fatal(err)
	}
	defer l.Close()
	var took []time.Duration
	step := func(do func() error) {
		b.t.Helper()
		began := time.Now()
		if err := do(); err != nil {
			b.t.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	var contents, records, keys int
	walk := func(what string, purge func(after postledger.ID) (ledger.Purged, error), n *int) {
		b.t.Helper()
		took = took[:0]
		var after postledger.ID
		for done := false; !done; {
			step(func() error {
				p, err := purge(after)
				*n += p.Messages
				after, done = p.Next, p.Done
				return err
			})
		}
		b.slices(what, took)
	}
	walk("contents", func(after postledger.ID) (ledger.Purged, error) {
		return l.PurgeContent(ctx, time.Now().AddDate(0, 0, -30), after, 1000)
	}, &contents)
	walk("records", func(after postledger.ID) (ledger.Purged, error) {
		return l.PurgeRecords(ctx, time.Now().AddDate(0, 0, -90), after, 1000)
	}, &records)
	took = took[:0]
	var mark ledger.KeyMark
	for done := false; !done; {
		step(func() error {
			n, next, end, err := l.PurgeKeys(ctx, time.Now().AddDate(0, 0, -90), mark, 1000)
			keys, mark, done = keys+n, next, end
			return err
		})
	}
	b.slices("keys", took)
	if contents != oldSent || records != oldSent || keys != oldSent {
		b.t.Errorf("%d contents, %d messages and %d keys were removed, want %d each", contents, records, keys, oldSent)
	}
}

// slices judges the steps of a kind: on a machine that does nothing else all but
// one in a hundred, and beside other tests, which take its processors for a slice
// of time now and then, half of them.
func (b *backlogged) slices(what string, took []time.Duration) {
	b.t.Helper()
	took = slices.Clone(took)
	slices.Sort(took)
	middle, most := took[len(took)/2], took[(len(took)-1)*99/100]
	b.t.Logf("retention of %s: %d steps, median %v, 99 of 100 within %v, longest %v", what, len(took), middle, most, took[len(took)-1])
	if judged := map[bool]time.Duration{false: middle, true: most}[b.form.alone]; judged > maxPage {
		b.t.Errorf("steps of retention of %s took %v", what, judged)
	}
}
