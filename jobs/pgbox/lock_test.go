package pgbox_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/internal/sqlbox"
	"github.com/postledger/postledger/jobs/pgbox"
)

// Whoever changes the same rows of a table of some size locks them in one order, also
// where they are of several revisions, as those of jobs that failed before are: else the
// server breaks one off, a second later. The connections are as the package asks.
func TestRowsAreLockedInOneOrder(t *testing.T) {
	t.Parallel()
	url := testserver.Postgres(t)
	watcher, db := connect(t, url), connect(t, url+"&enable_seqscan=off&enable_bitmapscan=off")
	migrate(t, db)
	box := pgbox.New(db)
	const rows, members, rounds = 500, 4, 25
	var all []jobs.Ref
	var insertions []jobs.Insertion
	for i := range rows {
		e := jobs.Entry{Job: jobs.Job{ID: jobs.DeriveID(jobs.ID{}, fmt.Sprint(i)), Handler: "h", Lane: jobs.Fast}, Rev: int64(1 + i%3)}
		insertions, all = append(insertions, jobs.Insertion{Entry: e}), append(all, e.Ref())
	}
	if _, err := box.Insert(t.Context(), insertions); err != nil {
		t.Fatal(err)
	}
	// As many more as make every list a small part, which is looked up by the same plan.
	if _, err := db.Exec("INSERT INTO job_outbox (" + sqlbox.Columns + ", changed_at) SELECT md5(n::text)::uuid, 1, 0, 0, '', 'h', NULL, 0, 0, 1, 'x', 0, 25, 0, 0, 1, 0, '', '', n FROM generate_series(1, 20000) AS n"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("VACUUM (ANALYZE) job_outbox"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for m := range members {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(m), 1))
			for round := range rounds {
				refs := append([]jobs.Ref{}, all...)
				random.Shuffle(rows, func(i, j int) { refs[i], refs[j] = refs[j], refs[i] })
				refs = refs[:rows/4+random.IntN(rows/2)]
				var err error
				if (m+round)%2 == 0 {
					_, err = box.Admit(t.Context(), "e", refs)
				} else {
					_, err = box.Rebuffer(t.Context(), refs)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	// A session tells what it has counted when it ends.
	db.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for sessions := 1; sessions > 0; {
		if err := watcher.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&sessions); err != nil {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d sessions are left", sessions)
		}
	}
	var deadlocks int
	if err := watcher.QueryRow("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks); err != nil || deadlocks > 0 {
		t.Errorf("the server broke up %d deadlocks (%v)", deadlocks, err)
	}
}
