package jobs_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/sqlitebox"
)

// box is an outbox of the test's own, and its database.
func box(t *testing.T) (jobs.Outbox, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobs.db")
	db, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	if err := sqlitebox.Migrate(context.Background(), db); err != nil {
		t.Fatal(err)
	}
	return sqlitebox.New(db), db
}

// faulty is a hot set that fails on command: before a call, or after it, so that
// its answer is lost.
type faulty struct {
	jobs.Hot
	before, after bool
}

var errCut = errors.New("connection cut")

func (f *faulty) Add(ctx context.Context, add jobs.Add) ([]jobs.Admission, error) {
	none := make([]jobs.Admission, len(add.Entries))
	if f.before {
		return none, errCut
	}
	out, err := f.Hot.Add(ctx, add)
	if f.after {
		return none, errCut
	}
	return out, err
}

func (f *faulty) Epoch(ctx context.Context) (string, error) {
	if f.before {
		return "", errCut
	}
	return f.Hot.Epoch(ctx)
}

func clientOf(t *testing.T, hot jobs.Hot, outbox jobs.Outbox, o jobs.ClientOptions) *jobs.Client {
	t.Helper()
	if o.HotPause == 0 {
		o.HotPause = time.Nanosecond
	}
	client, err := jobs.NewClient(hot, outbox, o)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// rows shows the outbox: payload and state of each row in the order of place.
func rows(t *testing.T, outbox jobs.Outbox) []string {
	t.Helper()
	list, _, err := outbox.List(context.Background(), jobs.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, row := range list {
		out = append(out, fmt.Sprintf("%s %s", row.Payload, row.State))
	}
	return out
}

func wantRows(t *testing.T, outbox jobs.Outbox, want ...string) {
	t.Helper()
	if got := rows(t, outbox); !slices.Equal(got, want) {
		t.Fatalf("the outbox has %q\nwant %q", got, want)
	}
}

func named(names ...string) []jobs.Job {
	var out []jobs.Job
	for _, name := range names {
		out = append(out, jobs.Job{Handler: "h", Payload: []byte(name)})
	}
	return out
}

// hotPayloads takes everything that can be taken.
func hotPayloads(t *testing.T, hot jobs.Hot) []string {
	t.Helper()
	held, err := hot.Take(context.Background(), jobs.Take{Max: 100, MaxSlow: 100, Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range held {
		out = append(out, string(h.Payload))
	}
	return out
}

func TestOverflowWritesRowsOnlyWithoutRoom(t *testing.T) {
	t.Parallel()
	outbox, _ := box(t)
	hot := memory(t, jobs.Limits{Jobs: 3})
	woken := 0
	client := clientOf(t, hot, outbox, jobs.ClientOptions{Mode: jobs.Overflow, Wake: func() { woken++ }})
	enqueue(t, client, named("a", "b", "c")...)
	wantRows(t, outbox)
	enqueue(t, client, named("d", "e")...)
	wantRows(t, outbox, "d buffered", "e buffered")
	if got := hotPayloads(t, hot); !slices.Equal(got, []string{"a", "b", "c"}) || woken != 1 {
		t.Fatalf("hot are %q, the drain was woken %d times", got, woken)
	}
	flags, err := hot.Flags(context.Background())
	if err != nil || len(flags) != 1 || flags[0].Pending != 0 {
		t.Fatalf("flags %+v, %v; want one with nothing pending: the rows are committed", flags, err)
	}
	// What may not spill has its reserve, and is refused above it.
	enqueue(t, client, jobs.Job{Handler: "h", Bypass: true})
	_, err = client.Enqueue(context.Background(), jobs.Job{Handler: "h", Kind: jobs.Cron})
	if !errors.Is(err, jobs.ErrOverloaded) {
		t.Fatalf("above the reserve: %v", err)
	}
}

func TestOverflowWithoutTheHotSet(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]faulty{"unreachable": {before: true}, "its answer is lost": {after: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outbox, _ := box(t)
			hot := &cut
			hot.Hot = memory(t, jobs.Limits{})
			client := clientOf(t, hot, outbox, jobs.ClientOptions{Mode: jobs.Overflow})
			ids := enqueue(t, client, named("a", "b")...)
			wantRows(t, outbox, "a buffered", "b buffered")
			row, err := outbox.Get(context.Background(), ids[0])
			if err != nil || row.ID != ids[0] {
				t.Fatalf("the row is %+v, %v: want the same id", row, err)
			}
			for _, job := range []jobs.Job{{Handler: "h", Bypass: true}, {Handler: "h", Kind: jobs.Cron}, {Handler: "h", Kind: jobs.Trigger}} {
				if _, err := client.Enqueue(context.Background(), job); !errors.Is(err, jobs.ErrUnavailable) {
					t.Fatalf("%v, bypass %v: %v", job.Kind, job.Bypass, err)
				}
			}
			wantRows(t, outbox, "a buffered", "b buffered")
			// The set is back. It does not know of the rows, but this client does.
			hot.before, hot.after = false, false
			enqueue(t, client, named("c")...)
			wantRows(t, outbox, "a buffered", "b buffered", "c buffered")
			flags, err := hot.Flags(context.Background())
			if err != nil || len(flags) != 1 || flags[0].Lane != jobs.Fast {
				t.Fatalf("flags %+v, %v", flags, err)
			}
			// And it says so once.
			if ok, err := hot.Clear(context.Background(), flags[0], nil); err != nil || !ok {
				t.Fatal(ok, err)
			}
			enqueue(t, client, named("d")...)
			wantRows(t, outbox, "a buffered", "b buffered", "c buffered")
		})
	}
}

func TestAlwaysCommitsFirst(t *testing.T) {
	t.Parallel()
	outbox, _ := box(t)
	hot := memory(t, jobs.Limits{Jobs: 2})
	client := clientOf(t, hot, outbox, jobs.ClientOptions{})
	enqueue(t, client, named("a", "b", "c")...)
	wantRows(t, outbox, "a admitted", "b admitted", "c buffered")
	enqueue(t, client, jobs.Job{Handler: "h", Payload: []byte("key"), DedupeKey: "k"})
	wantRows(t, outbox, "a admitted", "b admitted", "c buffered", "key buffered")
	enqueue(t, client, jobs.Job{Handler: "h", Payload: []byte("newer"), DedupeKey: "k"})
	wantRows(t, outbox, "a admitted", "b admitted", "c buffered", "newer buffered")
	if got := hotPayloads(t, hot); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("hot are %q", got)
	}
}

func TestAlwaysAdmitsKeyedJobs(t *testing.T) {
	t.Parallel()
	outbox, _ := box(t)
	hot := memory(t, jobs.Limits{})
	client := clientOf(t, hot, outbox, jobs.ClientOptions{})
	first := enqueue(t, client, jobs.Job{Handler: "h", Payload: []byte("one"), DedupeKey: "k"})
	wantRows(t, outbox, "one admitted")
	// The older one waits in the set, whose row must not be forgotten.
	enqueue(t, client, jobs.Job{Handler: "h", Payload: []byte("two"), DedupeKey: "k"})
	wantRows(t, outbox, "one admitted", "two buffered")
	// One id is one job, wherever it is.
	ids, err := client.EnqueueMany(context.Background(), []jobs.Job{{ID: first[0], Handler: "h", Payload: []byte("again")}})
	if err != nil || ids[0] != first[0] {
		t.Fatal(ids, err)
	}
	wantRows(t, outbox, "one admitted", "two buffered")
	holds(t, hot, 1)
}

func TestAlwaysWithoutTheHotSet(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]faulty{"unreachable": {before: true}, "its answer is lost": {after: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outbox, _ := box(t)
			hot := &cut
			hot.Hot = memory(t, jobs.Limits{})
			client := clientOf(t, hot, outbox, jobs.ClientOptions{})
			enqueue(t, client, named("a")...)
			enqueue(t, client, jobs.Job{Handler: "h", Payload: []byte("cron"), Kind: jobs.Cron})
			wantRows(t, outbox, "a buffered", "cron buffered")
		})
	}
}

func TestJobsForLaterAreRows(t *testing.T) {
	t.Parallel()
	for _, mode := range []jobs.Mode{jobs.Always, jobs.Overflow} {
		outbox, _ := box(t)
		hot := memory(t, jobs.Limits{})
		client := clientOf(t, hot, outbox, jobs.ClientOptions{Mode: mode})
		later := time.Now().Add(time.Hour)
		enqueue(t, client, jobs.Job{Handler: "h", Payload: []byte("a"), RunAt: later},
			jobs.Job{Handler: "h", Payload: []byte("b"), RunAt: later, Bypass: true})
		wantRows(t, outbox, "a buffered", "b buffered")
		holds(t, hot, 0)
	}
}

func TestEnqueueTx(t *testing.T) {
	t.Parallel()
	outbox, db := box(t)
	client := clientOf(t, memory(t, jobs.Limits{}), outbox, jobs.ClientOptions{Mode: jobs.Overflow})
	for _, commit := range []bool{false, true} {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		ids, err := client.EnqueueTx(context.Background(), jobs.SQLTx(tx), named("a", "b")...)
		if err != nil || len(ids) != 2 {
			t.Fatal(ids, err)
		}
		if commit {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			t.Fatal(err)
		}
		if !commit {
			wantRows(t, outbox)
			continue
		}
		wantRows(t, outbox, "a buffered", "b buffered")
		if row, err := outbox.Get(context.Background(), ids[1]); err != nil || !row.Durable {
			t.Fatalf("%+v, %v: want it durable in every mode", row, err)
		}
	}
}

func TestBadJobsChangeNothing(t *testing.T) {
	t.Parallel()
	outbox, db := box(t)
	hot := memory(t, jobs.Limits{})
	client := clientOf(t, hot, outbox, jobs.ClientOptions{Mode: jobs.Overflow})
	list := append(named("a"), jobs.Job{Handler: "h", Payload: make([]byte, jobs.MaxPayload+1)})
	ids, err := client.EnqueueMany(context.Background(), list)
	if !errors.Is(err, jobs.ErrPayloadTooLarge) || !strings.Contains(err.Error(), "job 1: ") || ids != nil {
		t.Fatalf("%v, %v", ids, err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := client.EnqueueTx(context.Background(), jobs.SQLTx(tx), list...); !errors.Is(err, jobs.ErrBadJob) {
		t.Fatal(err)
	}
	holds(t, hot, 0)
}

func TestBacklogCeiling(t *testing.T) {
	t.Parallel()
	outbox, _ := box(t)
	hot := memory(t, jobs.Limits{Jobs: 2})
	client := clientOf(t, hot, outbox, jobs.ClientOptions{Mode: jobs.Overflow, MaxBacklog: jobs.Ceiling{Rows: 2}})
	enqueue(t, client, named("a", "b")...)
	// Another client's, so that this one has not looked yet.
	other := clientOf(t, hot, outbox, jobs.ClientOptions{Mode: jobs.Overflow})
	enqueue(t, other, named("c", "d")...)
	if _, err := client.Enqueue(context.Background(), named("e")[0]); !errors.Is(err, jobs.ErrOverloaded) {
		t.Fatalf("above the ceiling: %v", err)
	}
	wantRows(t, outbox, "c buffered", "d buffered")
}

func TestLanesOfAClient(t *testing.T) {
	t.Parallel()
	r := jobs.NewRegistry()
	handle(t, r, "registered", jobs.Handling{Lane: jobs.Slow}, func(context.Context, []byte) error { return nil })
	hot := memory(t, jobs.Limits{})
	client, err := jobs.NewClient(hot, nil, jobs.ClientOptions{
		Mode: jobs.Overflow, Registry: r, Lanes: map[string]jobs.Lane{"told": jobs.Slow},
	})
	if err != nil {
		t.Fatal(err)
	}
	enqueue(t, client, jobs.Job{Handler: "registered"}, jobs.Job{Handler: "told"}, jobs.Job{Handler: "told", Lane: jobs.Fast}, jobs.Job{Handler: "other"})
	d, err := hot.Depth(context.Background())
	if err != nil || d.Slow.Jobs != 2 || d.Fast.Jobs != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	if err := client.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Enqueue(context.Background(), jobs.Job{Handler: "other"}); !errors.Is(err, jobs.ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
}

func TestClientsAreChecked(t *testing.T) {
	t.Parallel()
	if _, err := jobs.NewClient(memory(t, jobs.Limits{}), nil, jobs.ClientOptions{}); !errors.Is(err, jobs.ErrNoOutbox) {
		t.Errorf("mode always without an outbox: %v", err)
	}
	if _, err := jobs.NewClient(nil, nil, jobs.ClientOptions{Mode: jobs.Overflow}); err == nil {
		t.Error("made a client without a hot set")
	}
	client := direct(t, memory(t, jobs.Limits{Jobs: 2}), jobs.NewRegistry())
	if _, err := client.EnqueueMany(context.Background(), named("a", "b", "c")); !errors.Is(err, jobs.ErrOverloaded) {
		t.Errorf("without room and without an outbox: %v", err)
	}
	if _, err := client.Enqueue(context.Background(), jobs.Job{Handler: "h", RunAt: time.Now().Add(time.Hour)}); !errors.Is(err, jobs.ErrNoOutbox) {
		t.Errorf("for later without an outbox: %v", err)
	}
}
