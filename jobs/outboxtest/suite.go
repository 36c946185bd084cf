package outboxtest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Store is a store with an empty database of the test's own.
type Store struct {
	jobs.Outbox
	// Begin starts a transaction of the application's on the same database.
	Begin func(t *testing.T) Tx
}

// Tx is a transaction of the application's.
type Tx struct {
	jobs.Tx
	Commit, Rollback func() error
}

// Run runs the suite; open makes a store.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for name, test := range map[string]func(*testing.T, Store){
		"rows keep everything":                       rowsKeepEverything,
		"order":                                      order,
		"an id is one job":                           anIDIsOneJob,
		"the application's transaction decides":      theTransactionDecides,
		"a key has one buffered row":                 aKeyHasOneBufferedRow,
		"a key twice in one call":                    aKeyTwiceInOneCall,
		"a key across producers":                     aKeyAcrossProducers,
		"an id across producers":                     anIDAcrossProducers,
		"a row under another revision is left alone": anotherRevisionIsLeftAlone,
		"pages":                                pages,
		"groups":                               groups,
		"scheduled rows ripen":                 scheduledRowsRipen,
		"epochs":                               epochs,
		"admitted rows are found by their age": admittedByAge,
		"jobs are given back":                  givenBack,
		"a job that is given back does not displace newer": givenBackIsNotNewer,
		"refused rows are set aside":                       refusedRowsAreSetAside,
		"quarantine by hand":                               quarantineByHand,
		"a row is hurried by hand":                         hurriedByHand,
		"a released job does not displace a newer one":     releasedIsNotNewer,
		"the backlog is counted":                           theBacklogIsCounted,
		"lists":                                            lists,
		"a list's page ends in time":                       pagesEnd,
		"a cursor is of its list":                          strangeCursors,
		"large payloads":                                   largePayloads,
		"leases":                                           leases,
		"a lease under another clock":                      aLeaseUnderAnotherClock,
		"leases have one owner":                            leasesHaveOneOwner,
		"schedules":                                        schedules,
		"schedules fire once":                              schedulesFireOnce,
		"movers and removers at once":                      moversAtOnce,
		"calls that are given up harm no other":            callsGivenUp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// Patience is how long a condition may take.
const patience = 30 * time.Second

var serial atomic.Int64

// job makes a job of which every one has another id.
func job(change ...func(*jobs.Entry)) jobs.Entry {
	n := serial.Add(1)
	e := jobs.Entry{Job: jobs.Job{
		ID:      jobs.DeriveID(jobs.ID{}, fmt.Sprint("outboxtest ", n)),
		Handler: "h", Payload: fmt.Appendf(nil, "payload %d", n), Lane: jobs.Fast,
	}, Rev: 1, EnqueuedAt: now()}
	for _, c := range change {
		c(&e)
	}
	return e
}

// now has the precision that stores keep.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func keyed(key string) func(*jobs.Entry)    { return func(e *jobs.Entry) { e.DedupeKey = key } }
func grouped(name string) func(*jobs.Entry) { return func(e *jobs.Entry) { e.Group = name } }
func slow(e *jobs.Entry)                    { e.Lane = jobs.Slow }
func durable(e *jobs.Entry)                 { e.Durable = true }

func in(d time.Duration) func(*jobs.Entry) {
	return func(e *jobs.Entry) { e.RunAt = now().Add(d) }
}

func several(n int, change ...func(*jobs.Entry)) []jobs.Entry {
	all := make([]jobs.Entry, n)
	for i := range all {
		all[i] = job(change...)
	}
	return all
}

func insertions(entries []jobs.Entry) []jobs.Insertion {
	all := make([]jobs.Insertion, len(entries))
	for i := range entries {
		all[i].Entry = entries[i]
	}
	return all
}

// insert writes rows and returns what became of them.
func insert(t *testing.T, s Store, entries ...jobs.Entry) []jobs.Inserted {
	t.Helper()
	answers, err := s.Insert(context.Background(), insertions(entries))
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) != len(entries) {
		t.Fatalf("%d answers for %d rows", len(answers), len(entries))
	}
	return answers
}

func refs(answers []jobs.Inserted) []jobs.Ref {
	all := make([]jobs.Ref, len(answers))
	for i := range answers {
		all[i] = answers[i].Ref
	}
	return all
}

// waiting are the ids of a scope's page.
func waiting(t *testing.T, s Store, scope jobs.Scope) []jobs.Row {
	t.Helper()
	rows, err := s.Waiting(context.Background(), jobs.Page{Scope: scope, Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func wantIDs(t *testing.T, rows []jobs.Row, entries ...jobs.Entry) {
	t.Helper()
	var got, want []jobs.ID
	for _, row := range rows {
		got = append(got, row.ID)
	}
	for _, e := range entries {
		want = append(want, e.ID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("rows %v\nwant %v", got, want)
	}
}

func get(t *testing.T, s Store, id jobs.ID) jobs.Row {
	t.Helper()
	row, err := s.Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// changed checks how many rows a method says that it changed.
func changed(t *testing.T, want int) func(int, error) {
	t.Helper()
	return func(n int, err error) {
		t.Helper()
		if err != nil || n != want {
			t.Fatalf("changed %d rows (%v), want %d", n, err, want)
		}
	}
}

// eventually polls a condition that the database's clock brings about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	timeout := time.After(patience)
	for !holds() {
		select {
		case <-poll.C:
		case <-timeout:
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

var fastPlain = jobs.Scope{Lane: jobs.Fast}
