package outboxtest

import (
	"context"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func refusedRowsAreSetAside(t *testing.T, s Store) {
	ctx := context.Background()
	poison, good := job(), job()
	bad := refs(insert(t, s, poison, good))[:1]
	const limit = 5
	for n := 1; n < limit; n++ {
		if err := s.Refuse(ctx, bad, "cannot be admitted", limit); err != nil {
			t.Fatal(err)
		}
		if row := get(t, s, poison.ID); row.State != jobs.Buffered || row.Refused != n {
			t.Fatalf("after %d refusals it is %s with %d", n, row.State, row.Refused)
		}
	}
	if err := s.Refuse(ctx, bad, "cannot be admitted", limit); err != nil {
		t.Fatal(err)
	}
	if row := get(t, s, poison.ID); row.State != jobs.Quarantined || row.Reason != "cannot be admitted" {
		t.Errorf("after the last it is %s: %s", row.State, row.Reason)
	}
	wantIDs(t, waiting(t, s, fastPlain), good)
}

func quarantineByHand(t *testing.T, s Store) {
	ctx := context.Background()
	a, b := job(keyed("k")), job(in(time.Hour))
	insert(t, s, a)
	insert(t, s, b)
	ids := []jobs.ID{a.ID, b.ID, job().ID}
	changed(t, 2)(s.Quarantine(ctx, ids, "a person"))
	changed(t, 0)(s.Quarantine(ctx, ids, "another"))
	if row := get(t, s, a.ID); row.State != jobs.Quarantined || row.Reason != "a person" {
		t.Errorf("set aside is %s: %s", row.State, row.Reason)
	}
	changed(t, 0)(s.PruneQuarantined(ctx, time.Hour, 10))
	changed(t, 2)(s.Release(ctx, ids))
	changed(t, 0)(s.Release(ctx, ids))
	rows := waiting(t, s, fastPlain)
	wantIDs(t, rows, a, b) // released to run now
	for _, row := range rows {
		if row.Reason != "" || row.Attempts != 0 || !row.RunAt.IsZero() {
			t.Errorf("a released row is %+v", row)
		}
	}
	changed(t, 2)(s.Quarantine(ctx, ids, "again"))
	changed(t, 1)(s.PruneQuarantined(ctx, 0, 1))
	changed(t, 1)(s.PruneQuarantined(ctx, 0, 1))
	changed(t, 0)(s.Release(ctx, ids))
}

func hurriedByHand(t *testing.T, s Store) {
	ctx := context.Background()
	later, now, aside := job(in(time.Hour)), job(), job()
	insert(t, s, later, now, aside)
	changed(t, 1)(s.Quarantine(ctx, []jobs.ID{aside.ID}, "a person"))
	ids := []jobs.ID{later.ID, now.ID, aside.ID, job().ID}
	changed(t, 1)(s.Hurry(ctx, ids))
	changed(t, 0)(s.Hurry(ctx, ids))
	wantIDs(t, waiting(t, s, fastPlain), later, now) // at its place
	if at := get(t, s, later.ID).RunAt; at.After(time.Now().Add(time.Minute)) {
		t.Errorf("a hurried row is due at %v", at)
	}
}

func releasedIsNotNewer(t *testing.T, s Store) {
	ctx := context.Background()
	older, newer := job(keyed("k")), job(keyed("k"))
	insert(t, s, older)
	changed(t, 1)(s.Quarantine(ctx, []jobs.ID{older.ID}, "poison"))
	insert(t, s, newer)
	changed(t, 0)(s.Release(ctx, []jobs.ID{older.ID}))
	wantIDs(t, waiting(t, s, fastPlain), newer)
	if _, err := s.Get(ctx, older.ID); err == nil {
		t.Error("a superseded job has a row still")
	}
}

func theBacklogIsCounted(t *testing.T, s Store) {
	ctx := context.Background()
	empty, err := s.Backlog(ctx)
	if err != nil || len(empty.Buffered) != 0 || empty.Scheduled+empty.Admitted+empty.Quarantined != 0 {
		t.Fatalf("an empty outbox has %+v (%v)", empty, err)
	}
	insert(t, s, append(several(3), job(grouped("g")), job(slow), job(in(time.Hour)))...)
	changed(t, 1)(s.Admit(ctx, "e", refs(insert(t, s, job()))))
	aside := several(2)
	insert(t, s, aside...)
	changed(t, 2)(s.Quarantine(ctx, []jobs.ID{aside[0].ID, aside[1].ID}, ""))
	got, err := s.Backlog(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got.Buffered[jobs.Fast] != 4 || got.Buffered[jobs.Slow] != 1 || got.Scheduled != 1 || got.Admitted != 1 || got.Quarantined != 2 {
		t.Errorf("the backlog is %+v", got)
	}
	before := got.Oldest[jobs.Fast]
	if before < 0 || before > time.Minute {
		t.Errorf("the oldest is %v old", before)
	}
	eventually(t, "the oldest ages", func() bool {
		again, err := s.Backlog(ctx)
		return err == nil && again.Oldest[jobs.Fast] > before
	})
}
