package queue_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the database/sql driver "pgx"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"github.com/postledger/postledger/internal/app/queue"
	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/pgbox"
	"github.com/postledger/postledger/jobs/sqlitebox"
)

const patience = 60 * time.Second

func embedded(t *testing.T) jobs.Outbox {
	t.Helper()
	db := connect(t, "sqlite", filepath.Join(t.TempDir(), "jobs.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
	if err := sqlitebox.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return sqlitebox.New(db)
}

func postgres(t *testing.T) jobs.Outbox {
	t.Helper()
	db := connect(t, "pgx", testserver.Postgres(t))
	if err := pgbox.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return pgbox.New(db)
}

func connect(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// runs counts the runs of jobs, by process and by id.
type runs struct {
	mu      sync.Mutex
	ids     map[jobs.ID]int
	process map[string]int
	changed chan struct{}
}

func newRuns() *runs {
	return &runs{ids: map[jobs.ID]int{}, process: map[string]int{}, changed: make(chan struct{}, 1)}
}

func (r *runs) registry(t *testing.T, process string) *jobs.Registry {
	t.Helper()
	registry := jobs.NewRegistry()
	err := jobs.Handle(registry, "count", func(ctx context.Context, _ []byte) error {
		run, _ := jobs.RunOf(ctx)
		r.mu.Lock()
		r.ids[run.ID]++
		r.process[process]++
		r.mu.Unlock()
		select {
		case r.changed <- struct{}{}:
		default:
		}
		return nil
	}, jobs.Handling{})
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// await waits until so many jobs have run, and tells how often each process did.
func (r *runs) await(t *testing.T, n int) map[string]int {
	t.Helper()
	late := time.After(patience)
	for {
		r.mu.Lock()
		have, by := len(r.ids), map[string]int{}
		for process, k := range r.process {
			by[process] = k
		}
		r.mu.Unlock()
		if have >= n {
			return by
		}
		select {
		case <-r.changed:
		case <-late:
			t.Fatalf("%d of %d jobs ran", have, n)
		}
	}
}

// log is a log that can be read while it is written.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func start(t *testing.T, c queue.Config) *queue.Queue {
	t.Helper()
	if c.Slots == 0 {
		c.Slots = 5
	}
	c.SlowShare, c.StopPatience, c.FlushPatience = 0.5, 5*time.Second, 5*time.Second
	if c.Owner == "" {
		c.Owner = "embedded"
	}
	q, err := queue.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, q) })
	return q
}

func stop(t *testing.T, q *queue.Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := q.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func enqueue(t *testing.T, q *queue.Queue, n int) {
	t.Helper()
	list := make([]jobs.Job, n)
	for i := range list {
		list[i] = jobs.Job{Handler: "count", Group: fmt.Sprint("g", i%3)}
	}
	if _, err := q.Client().EnqueueMany(context.Background(), list); err != nil {
		t.Fatal(err)
	}
}

// With memory one process at a time runs the jobs of all, and another takes over.
func TestSeveralProcessesWithMemory(t *testing.T) {
	t.Parallel()
	outbox, r := postgres(t), newRuns()
	const processes, each = 3, 40
	queues := map[string]*queue.Queue{}
	for i := range processes {
		name := fmt.Sprint("process ", i)
		queues[name] = start(t, queue.Config{Outbox: outbox, Registry: r.registry(t, name), Owner: name})
	}
	want := 0
	for len(queues) > 0 {
		for _, q := range queues {
			enqueue(t, q, each)
			want += each
		}
		by := r.await(t, want)
		r.mu.Lock()
		clear(r.process)
		r.mu.Unlock()
		if len(by) != 1 {
			t.Fatalf("jobs ran in %v", by)
		}
		for name := range by {
			stop(t, queues[name])
			delete(queues, name)
		}
	}
	for id, n := range r.ids {
		if n != 1 {
			t.Errorf("%s ran %d times, and nothing was killed", id, n)
		}
	}
	empty(t, outbox)
}

// empty waits until no row is left.
func empty(t *testing.T, outbox jobs.Outbox) {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for {
		rows, _, err := outbox.List(context.Background(), jobs.Query{Limit: 5})
		if err == nil && len(rows) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("rows are left: %+v (%v)", rows, err)
		}
	}
}

// A process that lost its seat throws away what it holds.
func TestALostSeatIsLeft(t *testing.T) {
	t.Parallel()
	outbox, r := postgres(t), newRuns()
	var said log
	q := start(t, queue.Config{Outbox: outbox, Registry: r.registry(t, "a"), Owner: "a", Log: slog.New(slog.NewTextHandler(&said, nil))})
	enqueue(t, q, 5)
	r.await(t, 5)
	if err := outbox.ReleaseLease(t.Context(), queue.SeatLease, "a"); err != nil {
		t.Fatal(err)
	}
	if _, ours, err := outbox.AcquireLease(t.Context(), queue.SeatLease, "b", time.Minute); err != nil || !ours {
		t.Fatal(ours, err)
	}
	tick, late := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for q.State(t.Context()).Runs {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it still runs jobs: %s", said.String())
		}
	}
	enqueue(t, q, 5) // for whoever runs jobs now
	if rows, _, err := outbox.List(t.Context(), jobs.Query{State: jobs.Buffered, Limit: 9}); err != nil || len(rows) != 5 {
		t.Fatalf("%d rows wait (%v)", len(rows), err)
	}
	if err := outbox.ReleaseLease(t.Context(), queue.SeatLease, "b"); err != nil {
		t.Fatal(err)
	}
	r.await(t, 10)
}

// Redis is not there at the start, comes, is killed, comes back empty: what was
// accepted runs, and accepting never fails.
func TestRedisComesAndGoes(t *testing.T) {
	t.Parallel()
	server := testserver.PrivateRedis(t)
	server.Kill()
	outbox, r := postgres(t), newRuns()
	o := universal(t, server.URL())
	var said log
	var queues []*queue.Queue
	for _, name := range []string{"a", "b"} {
		queues = append(queues, start(t, queue.Config{
			Outbox: outbox, Registry: r.registry(t, name), Owner: name, Redis: o, Name: "jobs:test",
			Log: slog.New(slog.NewTextHandler(&said, nil)),
		}))
	}
	want := 0
	add := func(n int) {
		for _, q := range queues {
			enqueue(t, q, n)
			want += n
		}
	}
	add(20)
	if s := queues[0].State(t.Context()); s.Fault == nil || s.Depth != nil {
		t.Errorf("Redis is down: %+v", s)
	}
	server.Start()
	r.await(t, want)
	add(20)
	by := r.await(t, want)
	if len(by) != 2 {
		t.Logf("only %v took jobs", by)
	}
	server.Kill()
	add(20)
	server.Wipe()
	server.Start()
	add(20)
	r.await(t, want)
	empty(t, outbox)
	if s := queues[0].State(t.Context()); s.Fault != nil || s.Depth == nil {
		t.Errorf("Redis is back: %+v", s)
	}
	// The taker, the leases, the writer of ends, the drain and the client of each queue
	// warn once an outage; no outage lasts a minute.
	if n := strings.Count(said.String(), "level=WARN"); n > 2*2*5 {
		t.Errorf("%d warnings were logged: %s", n, said.String())
	}
}

func TestARedisThatDropsIsWarnedOf(t *testing.T) {
	t.Parallel()
	server := testserver.PrivateRedis(t, "maxmemory=100mb", "maxmemory-policy=allkeys-lru")
	o := universal(t, server.URL())
	var said log
	q := start(t, queue.Config{
		Outbox: embedded(t), Registry: newRuns().registry(t, "a"), Redis: o, Name: "jobs:test", Alone: true,
		Log: slog.New(slog.NewTextHandler(&said, nil)),
	})
	for range 3 {
		warning, err := q.CheckPolicy(t.Context())
		if err != nil || !strings.Contains(warning, "allkeys-lru") || !strings.Contains(warning, "noeviction") {
			t.Fatalf("%q (%v)", warning, err)
		}
	}
	if n := strings.Count(said.String(), "maxmemory_policy=allkeys-lru"); n != 1 {
		t.Errorf("warned %d times: %s", n, said.String())
	}
	client := redis.NewUniversalClient(o)
	defer client.Close()
	if err := client.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err(); err != nil {
		t.Fatal(err)
	}
	if warning, err := q.CheckPolicy(t.Context()); err != nil || warning != "" {
		t.Errorf("%q (%v)", warning, err)
	}
}

// What runs is finished, what waits is left in its row, and what was handed over
// is written.
func TestStopFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	outbox := embedded(t)
	registry := jobs.NewRegistry()
	began, finish, finished := make(chan struct{}, 9), make(chan struct{}), make(chan struct{}, 9)
	err := jobs.Handle(registry, "slow", func(ctx context.Context, _ []byte) error {
		began <- struct{}{}
		<-finish
		finished <- struct{}{}
		return ctx.Err()
	}, jobs.Handling{})
	if err != nil {
		t.Fatal(err)
	}
	q := start(t, queue.Config{Outbox: outbox, Registry: registry, Alone: true, Slots: 1})
	for range 3 {
		if _, err := q.Client().Enqueue(t.Context(), jobs.Job{Handler: "slow"}); err != nil {
			t.Fatal(err)
		}
	}
	<-began
	stopped := make(chan struct{})
	go func() { stop(t, q); close(stopped) }()
	close(finish)
	<-stopped
	if len(finished) == 0 {
		t.Error("it did not finish")
	}
	rows, _, err := outbox.List(t.Context(), jobs.Query{Limit: 9})
	if err != nil || len(rows)+len(finished) != 3 {
		t.Fatalf("%d rows are left and %d jobs ran (%v)", len(rows), len(finished), err)
	}
	if _, err := q.Client().Enqueue(t.Context(), jobs.Job{Handler: "slow"}); err == nil {
		t.Error("it takes jobs after the stop")
	}
}
