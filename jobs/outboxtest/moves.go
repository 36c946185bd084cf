package outboxtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func scheduledRowsRipen(t *testing.T, s Store) {
	ctx := context.Background()
	if next, err := s.NextDue(ctx); err != nil || !next.IsZero() {
		t.Fatalf("the next due of none is %v (%v)", next, err)
	}
	later, soon, first := job(in(time.Hour)), job(in(50*time.Millisecond)), job()
	insert(t, s, later, soon, first)
	next, err := s.NextDue(ctx)
	if err != nil || !next.Equal(soon.RunAt) {
		t.Errorf("the next is due at %v (%v), want %v", next, err, soon.RunAt)
	}
	wantIDs(t, waiting(t, s, fastPlain), first)
	eventually(t, "ripen", func() bool {
		n, err := s.Ripen(ctx, 10)
		if err != nil || n > 1 {
			t.Fatalf("ripened %d (%v)", n, err)
		}
		return n == 1
	})
	// It has the place it was given.
	wantIDs(t, waiting(t, s, fastPlain), soon, first)
	if row := get(t, s, later.ID); row.State != jobs.Buffered {
		t.Errorf("a scheduled row is %s", row.State)
	}
	changed(t, 0)(s.Ripen(ctx, 10))
}

func epochs(t *testing.T, s Store) {
	ctx := context.Background()
	all := several(5, durable)
	answers := refs(insert(t, s, all...))
	changed(t, 3)(s.Admit(ctx, "e1", answers[:3]))
	changed(t, 0)(s.Admit(ctx, "e1", answers[:3]))
	changed(t, 2)(s.Admit(ctx, "e2", answers[3:]))
	wantIDs(t, waiting(t, s, fastPlain))
	changed(t, 2)(s.RebufferEpoch(ctx, "e2", 2))
	changed(t, 1)(s.RebufferEpoch(ctx, "e2", 2))
	changed(t, 0)(s.RebufferEpoch(ctx, "e2", 2))
	rows := waiting(t, s, fastPlain)
	wantIDs(t, rows, all[:3]...)
	for _, row := range rows {
		if row.Rev != 1 || row.Epoch != "" {
			t.Errorf("a row that came back is %+v", row)
		}
	}

	// The newest of those with one key comes back, if none is buffered.
	a, b, c := job(keyed("k")), job(keyed("k")), job(keyed("k"))
	for _, e := range []jobs.Entry{a, b} {
		changed(t, 1)(s.Admit(ctx, "e1", refs(insert(t, s, e))))
	}
	changed(t, 2)(s.RebufferEpoch(ctx, "e2", 10))
	wantIDs(t, waiting(t, s, fastPlain), append(all[:3:3], b)...)
	changed(t, 1)(s.Admit(ctx, "e1", []jobs.Ref{b.Ref()}))
	insert(t, s, c)
	changed(t, 1)(s.RebufferEpoch(ctx, "e2", 10))
	wantIDs(t, waiting(t, s, fastPlain), append(all[:3:3], c)...)
}

func admittedByAge(t *testing.T, s Store) {
	ctx := context.Background()
	all := several(4, durable)
	answers := refs(insert(t, s, all...))
	changed(t, 4)(s.Admit(ctx, "e", answers))
	rows, err := s.AdmittedBefore(ctx, time.Hour, 0, 10)
	if err != nil || len(rows) != 0 {
		t.Fatalf("%d rows (%v) are an hour old", len(rows), err)
	}
	rows, err = s.AdmittedBefore(ctx, 0, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, rows, all[:3]...)
	rows, err = s.AdmittedBefore(ctx, 0, rows[2].Place, 3)
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, rows, all[3])
}

func givenBack(t *testing.T, s Store) {
	ctx := context.Background()
	retry, aside, finished, unknown, held := job(durable), job(durable), job(durable), job(), job(durable)
	place := map[jobs.ID]int64{}
	for _, e := range []jobs.Entry{retry, aside, finished, held} {
		changed(t, 1)(s.Admit(ctx, "e", refs(insert(t, s, e))))
		place[e.ID] = get(t, s, e.ID).Place
	}
	changed(t, 1)(s.Remove(ctx, []jobs.Ref{finished.Ref()}))
	changed(t, 1)(s.Quarantine(ctx, []jobs.ID{held.ID}, "by hand"))
	given := []jobs.GivenBack{
		{Entry: retry, State: jobs.Buffered, Reason: "boom\x00\xff"},
		{Entry: aside, State: jobs.Quarantined, Reason: "no more attempts"},
		{Entry: finished, State: jobs.Buffered},
		{Entry: unknown, State: jobs.Buffered, Reason: "first time"},
		{Entry: held, State: jobs.Buffered},
	}
	for i := range given {
		given[i].Attempts = 2
		given[i].RunAt = now().Add(time.Hour)
	}
	// Twice: an error means that the fate is unknown, so it is repeated.
	for range 2 {
		if err := s.GiveBack(ctx, given); err != nil {
			t.Fatal(err)
		}
	}
	// A drain that added them, and is late to mark or remove their rows.
	late := []jobs.Ref{retry.Ref(), aside.Ref(), unknown.Ref()}
	changed(t, 0)(s.Admit(ctx, "e", late))
	changed(t, 0)(s.Remove(ctx, late))
	for _, c := range []struct {
		entry jobs.Entry
		state jobs.State
	}{{retry, jobs.Buffered}, {aside, jobs.Quarantined}, {unknown, jobs.Buffered}} {
		row := get(t, s, c.entry.ID)
		if row.State != c.state || row.Attempts != 2 || row.Rev != 2 || row.Epoch != "" || string(row.Payload) != string(c.entry.Payload) {
			t.Errorf("a job given back is %+v", row)
		}
		if p, had := place[c.entry.ID]; had && p != row.Place {
			t.Errorf("its place is %d, want %d", row.Place, p)
		}
	}
	if row := get(t, s, retry.ID); !row.RunAt.Equal(given[0].RunAt) || row.Reason == "" {
		t.Errorf("the retry is %+v", row)
	}
	if _, err := s.Get(ctx, finished.ID); err == nil {
		t.Error("a durable job without a row had finished, and came back")
	}
	if row := get(t, s, held.ID); row.State != jobs.Quarantined || row.Reason != "by hand" {
		t.Errorf("what a person set aside is %s: %s", row.State, row.Reason)
	}
	wantIDs(t, waiting(t, s, fastPlain)) // all are for later
}

// The last payload wins, whoever returns last.
func givenBackIsNotNewer(t *testing.T, s Store) {
	ctx := context.Background()
	older, newer, spilled := job(keyed("k"), durable), job(keyed("k")), job(keyed("k2"))
	changed(t, 1)(s.Admit(ctx, "e", refs(insert(t, s, older))))
	insert(t, s, newer, job(keyed("k2")))
	if err := s.GiveBack(ctx, []jobs.GivenBack{{Entry: older, State: jobs.Buffered}, {Entry: spilled, State: jobs.Buffered}}); err != nil {
		t.Fatal(err)
	}
	for _, e := range []jobs.Entry{older, spilled} {
		if _, err := s.Get(ctx, e.ID); err == nil {
			t.Error("the older job has a row still")
		}
	}
	if row := get(t, s, newer.ID); row.Rev != 1 || string(row.Payload) != string(newer.Payload) {
		t.Errorf("the newer job's row is %+v", row)
	}
	// Two at once.
	a, b := job(keyed("k3")), job(keyed("k3"), func(e *jobs.Entry) { e.EnqueuedAt = now().Add(time.Second) })
	if err := s.GiveBack(ctx, []jobs.GivenBack{{Entry: b, State: jobs.Buffered}, {Entry: a, State: jobs.Buffered}}); err != nil {
		t.Fatal(err)
	}
	get(t, s, b.ID)
	if _, err := s.Get(ctx, a.ID); err == nil {
		t.Error("of two that came back at once the older stayed")
	}
}

// Admissions and completions of the same rows meet in any order and block nobody
// for good.
func moversAtOnce(t *testing.T, s Store) {
	ctx := context.Background()
	const rounds, size = 15, 60
	for range rounds {
		answers := refs(insert(t, s, several(size, durable)...))
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				mine := answers[i*10 : size-10*(2-i)]
				if _, err := s.Admit(ctx, "e", mine); err != nil {
					t.Error(err)
				}
				if _, err := s.Rebuffer(ctx, mine[5:]); err != nil {
					t.Error(err)
				}
				if _, err := s.Remove(ctx, mine); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantIDs(t, waiting(t, s, fastPlain))
	}
}
