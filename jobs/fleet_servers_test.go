package jobs_test

import (
	"testing"
	"time"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
)

// TestAFleetOutlivesItsServers: PostgreSQL and Redis are killed and come back in the
// middle, while producers, workers and the drain go on. Every job runs that a row
// stands for; of those that Redis alone held only what it held is gone.
func TestAFleetOutlivesItsServers(t *testing.T) {
	t.Parallel()
	outliveServers(t, 600, 1, time.Minute)
}

func TestAFleetOutlivesItsServersLong(t *testing.T) {
	long(t)
	outliveServers(t, 50_000, 10, 20*time.Minute)
}

func outliveServers(t *testing.T, each, times int, patience time.Duration) {
	type servers struct {
		redis    *testserver.RedisServer
		postgres *testserver.PostgresServer
	}
	kills := []struct {
		name string
		mode jobs.Mode
		kill func(servers)
		// lost is how many jobs may be gone each time.
		lost int
	}{
		{"PostgreSQL killed, always", jobs.Always, func(s servers) { s.postgres.Kill(); s.postgres.Start() }, 0},
		{"PostgreSQL killed, overflow", jobs.Overflow, func(s servers) { s.postgres.Kill(); s.postgres.Start() }, 0},
		{"Redis restarted with its data, always", jobs.Always, func(s servers) { s.redis.Kill(); s.redis.Start() }, 0},
		{"Redis restarted with its data, overflow", jobs.Overflow, func(s servers) { s.redis.Stop(); s.redis.Start() }, 0},
		{"Redis restarted empty, always", jobs.Always, func(s servers) { s.redis.Kill(); s.redis.Wipe(); s.redis.Start() }, 0},
		{"Redis restarted empty, overflow", jobs.Overflow, func(s servers) { s.redis.Kill(); s.redis.Wipe(); s.redis.Start() }, serverLimits.Jobs},
	}
	redis, postgres := testserver.PrivateRedis(t), testserver.PrivatePostgres(t)
	for _, k := range kills {
		t.Run(k.name, func(t *testing.T) {
			const producers, slots = 2, 10
			f := newFleetOn(t, memberConfig{Mode: k.mode, Limits: serverLimits, Jobs: each, Batch: 25, Lane: jobs.Fast, Payload: 300, Slots: slots}, redis.URL(), postgres.URL())
			f.drainer("")
			f.worker()
			f.worker()
			one, two := f.producer(1), f.producer(2)
			for n := range times {
				want := (2*n + 1) * producers * each / (2*times + 1)
				f.await("a part has run", patience, 0, func() bool { return f.ran() >= want })
				k.kill(servers{redis, postgres})
			}
			for _, m := range []*member{one, two} {
				<-m.done
				if m.err != nil {
					t.Errorf("a producer ended: %v", m.err)
				}
			}
			f.empty(patience)
			if k.lost == 0 {
				f.all(producers, each)
			} else if lost := producers*each - f.ran(); lost > times*k.lost {
				t.Errorf("%d jobs are gone, more than Redis can have held (%d)", lost, times*k.lost)
			}
			f.noDeadlock()
			_, others := f.causes()
			// What was hot, or being run or written, when its server went.
			if most := times * (serverLimits.Jobs + 6*slots + 2*25); others > most {
				t.Errorf("%d runs were further ones, more than %d", others, most)
			}
			t.Logf("%d of %d jobs ran, %d runs were further ones, after %d outages", f.ran(), producers*each, others, times)
		})
	}
}

var serverLimits = jobs.Limits{Jobs: 200}
