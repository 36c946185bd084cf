package jobs_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/pgbox"
	"github.com/postledger/postledger/jobs/redishot"
)

// fleet is a queue on real servers whose producers, workers and drains are
// processes, to be killed.
type fleet struct {
	*testing.T
	config memberConfig
	server redis.UniversalClient
	db     *sql.DB
	outbox pgbox.Box
	hot    jobs.Hot

	mu     sync.Mutex
	runs   map[string]int // of each job, by "producer number"
	begun  []start
	starts map[int]int // of each producer
}

// start is when a job began to run, how long it had waited, and in which of its
// producer's starts it was enqueued.
type start struct {
	producer, number, enqueued int
	at                         int64
	wait                       time.Duration
}

func newFleet(t *testing.T, config memberConfig) *fleet {
	t.Helper()
	return newFleetOn(t, config, testserver.PrivateRedis(t, "appendonly=no").URL(), testserver.Postgres(t))
}

func newFleetOn(t *testing.T, config memberConfig, redisURL, postgres string) *fleet {
	t.Helper()
	// As jobs/pgbox asks for.
	config.Redis, config.Postgres = redisURL, postgres+"&enable_seqscan=off&enable_bitmapscan=off"
	server, err := config.redis()
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{T: t, config: config, server: server, runs: map[string]int{}, starts: map[int]int{}}
	t.Cleanup(func() { f.server.Close() })
	db, err := sql.Open("pgx", config.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := pgbox.Migrate(context.Background(), db); err != nil {
		t.Fatal(err)
	}
	f.db, f.outbox = db, pgbox.New(db)
	if f.hot, err = redishot.New(f.server, "fleet", config.Limits); err != nil {
		t.Fatal(err)
	}
	return f
}

// member is one process.
type member struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	held chan struct{} // closed when it says that it is held
	done chan struct{}
	err  error
}

// start starts a process; the end of the test ends it.
func (f *fleet) start(change func(*memberConfig)) *member {
	f.Helper()
	config := f.config
	change(&config)
	text, err := json.Marshal(config)
	if err != nil {
		f.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	m := &member{cmd: exec.Command(self), held: make(chan struct{}), done: make(chan struct{})}
	m.cmd.Env = append(os.Environ(), memberVariable+"="+string(text))
	m.cmd.Stderr = os.Stderr
	out, err := m.cmd.StdoutPipe()
	if err == nil {
		m.in, err = m.cmd.StdinPipe()
	}
	if err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		f.Fatal(err)
	}
	go func() {
		defer close(m.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if lines.Text() == heldLine {
				close(m.held)
				continue
			}
			f.note(lines.Text())
		}
		m.err = m.cmd.Wait()
	}()
	f.Cleanup(m.kill)
	return m
}

func (m *member) kill() {
	_ = m.cmd.Process.Kill() // it may have ended
	<-m.done
}

func (m *member) ended() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

func (f *fleet) worker() *member { return f.start(func(*memberConfig) {}) }

func (f *fleet) drainer(killAt string) *member {
	return f.start(func(c *memberConfig) { c.Drain, c.KillAt = true, killAt })
}

func (f *fleet) producer(n int) *member {
	f.starts[n]++
	return f.start(func(c *memberConfig) { c.Producer, c.Start = n, f.starts[n] })
}

// note reads a worker's line. A line that a kill cut short is of a run that was not
// acknowledged: it comes again.
func (f *fleet) note(line string) {
	part := strings.Fields(line)
	if len(part) != 5 {
		return
	}
	var s start
	var errs [5]error
	var wait int64
	s.producer, errs[0] = strconv.Atoi(part[0])
	s.number, errs[1] = strconv.Atoi(part[1])
	s.enqueued, errs[2] = strconv.Atoi(part[2])
	s.at, errs[3] = strconv.ParseInt(part[3], 10, 64)
	wait, errs[4] = strconv.ParseInt(part[4], 10, 64)
	for _, err := range errs {
		if err != nil {
			return
		}
	}
	s.wait = time.Duration(wait)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs[part[0]+" "+part[1]]++
	f.begun = append(f.begun, s)
}

func (f *fleet) ran() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.runs)
}

// again counts runs beyond each job's first.
func (f *fleet) again() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.begun) - len(f.runs)
}

// causes tells further runs apart: of a job that a later start of its producer had
// enqueued anew, when it had finished and was not known any more, and of one that was
// enqueued once.
func (f *fleet) causes() (enqueued, others int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	type job struct{ producer, number, enqueued int }
	runs := map[job]int{}
	for _, s := range f.begun {
		runs[job{s.producer, s.number, s.enqueued}]++
	}
	return len(runs) - len(f.runs), len(f.begun) - len(runs)
}

// await polls, looks at the server's memory each time, and gives its largest growth.
func (f *fleet) await(what string, patience time.Duration, before int64, done func() bool) (grown int64) {
	f.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for {
		if before > 0 {
			grown = max(grown, f.memory()-before)
		}
		if done() {
			return grown
		}
		select {
		case <-tick.C:
		case <-timeout:
			depth, err := f.hot.Depth(context.Background())
			backlog, err2 := f.outbox.Backlog(context.Background())
			f.Fatalf("%s: not within %v; %d have run; the set holds %+v (%v), the outbox %+v (%v)", what, patience, f.ran(), depth, err, backlog, err2)
		}
	}
}

func (f *fleet) memory() int64 {
	f.Helper()
	info, err := f.server.Info(context.Background(), "memory").Result()
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				f.Fatal(err)
			}
			return n
		}
	}
	f.Fatal("the server does not tell its memory")
	return 0
}

// overtaken is the most jobs of a producer that had not begun when a later one of
// its jobs did.
func (f *fleet) overtaken(producer int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	begun := slices.DeleteFunc(slices.Clone(f.begun), func(s start) bool { return s.producer != producer })
	slices.SortFunc(begun, func(a, b start) int { return int(a.at - b.at) })
	most, highest, worst := map[int]bool{}, -1, 0
	for _, s := range begun {
		for n := highest + 1; n < s.number; n++ {
			most[n] = true
		}
		delete(most, s.number)
		highest = max(highest, s.number)
		worst = max(worst, len(most))
	}
	return worst
}

// p95 of the waits of one producer's jobs.
func (f *fleet) p95(producer int) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var waits []time.Duration
	for _, s := range f.begun {
		if s.producer == producer {
			waits = append(waits, s.wait)
		}
	}
	if len(waits) == 0 {
		return 0
	}
	slices.Sort(waits)
	return waits[len(waits)*95/100]
}

// empty waits until neither the set nor the outbox holds a job.
func (f *fleet) empty(patience time.Duration) {
	f.Helper()
	looks := 0
	f.await("nothing is left", patience, 0, func() bool {
		depth, err := f.hot.Depth(context.Background())
		backlog, err2 := f.outbox.Backlog(context.Background())
		if looks++; err != nil || err2 != nil || depth.Jobs > 0 || backlog.Rows()+backlog.Admitted+backlog.Quarantined > 0 {
			looks = 0
		}
		return looks == emptyLooks
	})
}

// noDeadlock: whoever changes the same rows locks them in one order. The server counts
// since its last crash.
func (f *fleet) noDeadlock() {
	f.Helper()
	var n int
	err := f.db.QueryRow("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&n)
	if err != nil || n > 0 {
		f.Errorf("PostgreSQL broke up %d deadlocks (%v)", n, err)
	}
}

func (f *fleet) all(producers, each int) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	missing := 0
	for p := 1; p <= producers; p++ {
		for n := range each {
			if f.runs[fmt.Sprint(p, " ", n)] == 0 {
				missing++
			}
		}
	}
	if missing > 0 {
		f.Errorf("%d of %d jobs were accepted and did not run", missing, producers*each)
	}
}
