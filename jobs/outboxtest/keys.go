package outboxtest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/postledger/postledger/jobs"
)

func aKeyHasOneBufferedRow(t *testing.T, s Store) {
	ctx := context.Background()
	first, second := job(keyed("k"), durable), job(keyed("k"), slow, grouped("g"))
	other, blank := job(keyed("k"), func(e *jobs.Entry) { e.Handler = "h2" }), job(keyed("k "))
	insert(t, s, first, job())
	place := get(t, s, first.ID).Place
	answers := insert(t, s, other, second, blank)
	for i, rev := range []int64{1, 2, 1} {
		if !answers[i].Fresh || answers[i].Rev != rev {
			t.Errorf("answer %d is %+v, want revision %d", i, answers[i], rev)
		}
	}
	row := get(t, s, second.ID)
	if row.Place != place || !row.Durable || row.Lane != jobs.Slow || row.Group != "g" || string(row.Payload) != string(second.Payload) {
		t.Errorf("the newer job's row is %+v, want it at place %d, durable", row, place)
	}
	if _, err := s.Get(ctx, first.ID); err == nil {
		t.Error("the older job has a row still")
	}

	// An admitted row takes no part.
	changed(t, 1)(s.Admit(ctx, "e", refs(answers[1:2])))
	third := job(keyed("k"))
	if answer := insert(t, s, third)[0]; !answer.Fresh || answer.Rev != 1 {
		t.Errorf("beside an admitted row: %+v, want a new row", answer)
	}
	if row := get(t, s, second.ID); row.State != jobs.Admitted || row.Rev != 2 {
		t.Errorf("the admitted row is %s at revision %d", row.State, row.Rev)
	}
}

func aKeyTwiceInOneCall(t *testing.T, s Store) {
	a, b, c := job(keyed("k"), durable), job(keyed("k")), job(keyed("k"))
	plain := job()
	for i, answer := range insert(t, s, a, plain, b, c) {
		if !answer.Fresh {
			t.Errorf("answer %d is %+v", i, answer)
		}
	}
	if row := get(t, s, c.ID); !row.Durable {
		t.Error("the last one lost the first one's durability")
	}
	if rows := waiting(t, s, fastPlain); len(rows) != 2 {
		t.Errorf("%d rows, want the plain one and the last", len(rows))
	}
}

// Producers that write the same keys at once leave one row each, and it is one
// of the last payloads.
func aKeyAcrossProducers(t *testing.T, s Store) {
	const producers, rounds, keys = 4, 10, 20
	var wg sync.WaitGroup
	failed := make(chan error, producers)
	for p := range producers {
		wg.Go(func() {
			for range rounds {
				var all []jobs.Entry
				for k := range keys {
					// Each in another order.
					all = append(all, job(keyed(fmt.Sprint("k", (k*[producers]int{1, 3, 7, 9}[p])%keys)), func(e *jobs.Entry) { e.Payload = fmt.Appendf(nil, "%d", p) }))
				}
				if _, err := s.Insert(context.Background(), insertions(all)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	rows := waiting(t, s, fastPlain)
	var revisions int64
	for _, row := range rows {
		revisions += row.Rev
	}
	if len(rows) != keys || revisions != producers*rounds*keys {
		t.Errorf("%d rows with %d revisions, want %d with %d", len(rows), revisions, keys, producers*rounds*keys)
	}
}

// Of producers that write the same ids at once exactly one is told that it did.
func anIDAcrossProducers(t *testing.T, s Store) {
	const producers, rounds = 4, 10
	all := make([][]jobs.Entry, rounds)
	for i := range all {
		all[i] = several(20)
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		fresh = map[jobs.ID]int{}
	)
	failed := make(chan error, producers)
	for range producers {
		wg.Go(func() {
			for _, entries := range all {
				answers, err := s.Insert(context.Background(), insertions(entries))
				if err != nil {
					failed <- err
					return
				}
				mu.Lock()
				for _, a := range answers {
					if a.Fresh {
						fresh[a.ID]++
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	for id, n := range fresh {
		if n != 1 {
			t.Errorf("%v was fresh %d times", id, n)
		}
	}
	if len(fresh) != rounds*20 || len(waiting(t, s, fastPlain)) != rounds*20 {
		t.Errorf("%d were fresh, want %d", len(fresh), rounds*20)
	}
}

// An upsert between the read of a row and what follows from it is never lost.
func anotherRevisionIsLeftAlone(t *testing.T, s Store) {
	ctx := context.Background()
	first := job(keyed("k"))
	old := refs(insert(t, s, first))
	// The same id with the next revision: an upsert, a return, a run's end.
	second := job(keyed("k"))
	current := refs(insert(t, s, second))
	stale := []jobs.Ref{old[0], {ID: second.ID, Rev: 1}}
	changed(t, 0)(s.Admit(ctx, "e", stale))
	changed(t, 0)(s.Remove(ctx, stale))
	if err := s.Refuse(ctx, stale, "no", 1); err != nil {
		t.Fatal(err)
	}
	stalejob := second
	stalejob.Rev = 1
	if err := s.GiveBack(ctx, []jobs.GivenBack{{Entry: stalejob, State: jobs.Quarantined}}); err != nil {
		t.Fatal(err)
	}
	rows := waiting(t, s, fastPlain)
	wantIDs(t, rows, second)
	if rows[0].Rev != 2 || rows[0].Refused != 0 {
		t.Errorf("the row is %+v", rows[0])
	}
	changed(t, 1)(s.Admit(ctx, "e", current))
	changed(t, 0)(s.Rebuffer(ctx, stale))
	changed(t, 1)(s.Rebuffer(ctx, current))
	changed(t, 1)(s.Remove(ctx, current))
}
