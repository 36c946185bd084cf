package jobs_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the database/sql driver "pgx"
	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/jobs"
	"github.com/postledger/postledger/jobs/pgbox"
	"github.com/postledger/postledger/jobs/redishot"
)

// memberVariable makes the test binary a process of a fleet, which can be killed.
const memberVariable = "POSTLEDGER_TEST_JOB_MEMBER"

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	if config := os.Getenv(memberVariable); config != "" {
		if err := runMember(config); err != nil {
			fmt.Fprintln(os.Stderr, "member:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// memberConfig is what a process of a fleet is told.
type memberConfig struct {
	Redis, Postgres string
	// Sentinels lead to the server, if there are any; Redis says how to log in to it.
	Sentinels        []string
	SentinelPassword string
	Mode             jobs.Mode
	Limits           jobs.Limits
	// Producer numbers a producer, from 1: it enqueues Jobs jobs into Lane, Batch at a
	// time, and ends when all are accepted. Start counts its starts: jobs have the same
	// ids in each, and say in which they were enqueued.
	Producer, Jobs, Batch int
	Start                 int
	Lane                  jobs.Lane
	Group                 string
	Payload               int
	// Slots is a worker's; Failing makes every handler fail for later. Dead is a group
	// whose jobs never end.
	Slots   int
	Failing bool
	Dead    string
	// Drain lets the process drain; KillAt is the failpoint at which it ends itself,
	// HoldAt the one at which it says so, once, and waits for a line.
	Drain          bool
	KillAt, HoldAt string
}

func runMember(text string) error {
	var c memberConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	client, err := c.redis()
	if err != nil {
		return err
	}
	defer client.Close()
	db, err := sql.Open("pgx", c.Postgres)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer db.Close()
	hot, err := redishot.New(client, "fleet", c.Limits)
	if err != nil {
		return err
	}
	outbox := pgbox.New(db)
	switch {
	case c.Producer > 0:
		return produce(ctx, c, hot, outbox)
	case c.Drain:
		jobs.NewDrain(hot, outbox, c.drain()).Run(ctx)
		return nil
	default:
		return consume(ctx, c, hot, outbox)
	}
}

func (c memberConfig) redis() (redis.UniversalClient, error) {
	o, err := redis.ParseURL(c.Redis)
	if err != nil {
		return nil, fmt.Errorf("read the Redis URL: %w", err)
	}
	several := &redis.UniversalOptions{Addrs: []string{o.Addr}, Username: o.Username, Password: o.Password, DB: o.DB, ContextTimeoutEnabled: true}
	if len(c.Sentinels) > 0 {
		several.Addrs, several.MasterName, several.SentinelPassword = c.Sentinels, testserver.WatchedName, c.SentinelPassword
	}
	return redis.NewUniversalClient(several), nil
}

// drain has short lives, so that another process goes on soon after a kill.
func (c memberConfig) drain() jobs.DrainConfig {
	return jobs.DrainConfig{
		Owner: fmt.Sprint(os.Getpid(), " ", time.Now().UnixNano()), Idle: 100 * time.Millisecond,
		LeaseLife: 2 * time.Second, Beat: time.Second, Sweep: 500 * time.Millisecond, LostAge: time.Second,
		Failpoint: c.failpoint(),
	}
}

func (c memberConfig) failpoint() func(string) {
	held := false
	return func(name string) {
		switch {
		case name == c.KillAt:
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // it takes a moment
		case name == c.HoldAt && !held:
			held = true
			fmt.Println(heldLine)
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		}
	}
}

// heldLine is what a process says that is held.
const heldLine = "held"

// produce enqueues again, under the same ids, what it was refused.
func produce(ctx context.Context, c memberConfig, hot jobs.Hot, outbox jobs.Outbox) error {
	client, err := jobs.NewClient(hot, outbox, jobs.ClientOptions{Mode: c.Mode, HotPause: 50 * time.Millisecond})
	if err != nil {
		return err
	}
	for first := 0; first < c.Jobs; first += c.Batch {
		list := make([]jobs.Job, min(c.Batch, c.Jobs-first))
		for i := range list {
			id := jobs.DeriveID(jobs.ID{}, fmt.Sprint(c.Producer, " ", first+i))
			payload := fmt.Appendf(nil, "%d %d %d", c.Producer, first+i, c.Start)
			list[i] = jobs.Job{
				ID:      id,
				Handler: "h", Lane: c.Lane, Group: c.Group,
				Payload: append(payload, make([]byte, max(c.Payload-len(payload), 0))...),
			}
		}
		_, err := client.EnqueueMany(ctx, list)
		for pause := 10 * time.Millisecond; err != nil; pause = min(2*pause, time.Second) {
			if !errors.Is(err, jobs.ErrUnavailable) {
				return err
			}
			timer := time.NewTimer(pause)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-timer.C:
			}
			_, err = client.EnqueueMany(ctx, list)
		}
	}
	return client.Close(ctx)
}

// quiet: that a server is gone is what the test does.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

var errNoLuck = errors.New("no luck")

func consume(ctx context.Context, c memberConfig, hot jobs.Hot, outbox jobs.Outbox) error {
	registry := jobs.NewRegistry()
	err := jobs.Handle(registry, "h", func(ctx context.Context, payload []byte) error {
		began := time.Now()
		run, _ := jobs.RunOf(ctx)
		if c.Dead != "" && run.Group == c.Dead {
			return jobs.RetryIn(2*jobs.HotHorizon, errNoLuck)
		}
		name, _, _ := bytes.Cut(payload, []byte{0})
		// Before the job can be acknowledged: what ran is known also after a kill.
		line := fmt.Appendf(nil, "%s %d %d\n", name, began.UnixNano(), began.Sub(run.EnqueuedAt))
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
		if c.Failing {
			return errNoLuck
		}
		return nil
	}, jobs.Handling{Backoff: func(int) time.Duration { return time.Hour }}) // after the end of any test
	if err != nil {
		return err
	}
	worker, err := jobs.NewWorker(hot, outbox, registry, jobs.WorkerOptions{Slots: c.Slots, Lease: 2 * time.Second, Failpoint: c.failpoint()})
	if err != nil {
		return err
	}
	return worker.Run(ctx)
}
