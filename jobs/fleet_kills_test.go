package jobs_test

import (
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// TestKillsOfAFleet: workers, producers and the drain are killed while jobs go
// through a small hot set. Every job runs. What runs again is what a worker held, what
// the drain had added and not marked, and what a producer, which begins again from its
// first job, enqueues when it has already finished and is not known any more.
func TestKillsOfAFleet(t *testing.T) {
	t.Parallel()
	killFleet(t, 500, 1, time.Minute)
}

func TestKillsOfAFleetLong(t *testing.T) {
	long(t)
	killFleet(t, 100_000, 50, 50*time.Minute)
}

func killFleet(t *testing.T, each, rounds int, patience time.Duration) {
	for name, mode := range map[string]jobs.Mode{"always": jobs.Always, "overflow": jobs.Overflow} {
		t.Run(name, func(t *testing.T) {
			const producers, slots = 2, 10
			limits := jobs.Limits{Jobs: 200}
			f := newFleet(t, memberConfig{Mode: mode, Limits: limits, Jobs: each, Batch: 50, Lane: jobs.Fast, Payload: 300, Slots: slots})
			kept := f.worker()
			for round := range rounds {
				killed := f.worker()
				drain := f.drainer("drain: added")
				one, two := f.producer(1), f.producer(2)
				// More than is hot when the drain dies: another has to go on.
				want := (round + 1) * min(each*producers/(rounds+1), 3*limits.Jobs)
				f.await("a part has run", patience, 0, func() bool {
					if drain.ended() {
						drain = f.drainer("")
					}
					return f.ran() >= want
				})
				killed.kill()
				one.kill()
				two.kill()
				drain.kill() // if it has not killed itself between the hot set and the rows
			}
			f.drainer("")
			f.worker()
			// They enqueue all again under the same ids, and end when all is accepted.
			ends := []*member{f.producer(1), f.producer(2)}
			for _, m := range ends {
				<-m.done
				if m.err != nil {
					t.Errorf("a producer ended: %v", m.err)
				}
			}
			f.empty(patience)
			f.all(producers, each)
			f.noDeadlock()
			kept.kill()
			enqueued, others := f.causes()
			// What a worker held: what ran, what had ended and waited, and one write of
			// ends, which gathers up to MaxTake of them; and all that is hot when the
			// drain dies before it has removed the rows.
			most := rounds * (2*slots + jobs.MaxTake)
			if mode == jobs.Overflow {
				most += rounds * (limits.Jobs + limits.Jobs/10)
			}
			if others > most {
				t.Errorf("%d runs were further ones of jobs that were enqueued once, more than %d", others, most)
			}
			t.Logf("%d jobs ran; %d runs were further ones after kills, %d of jobs that a restarted producer had enqueued anew, over %d rounds", producers*each, others, enqueued, rounds)
		})
	}
}
