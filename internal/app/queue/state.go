package queue

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/jobs"
)

// State is how the queue is, as this process sees it.
type State struct {
	// Driver is memory or redis. Runs tells whether this process runs jobs now.
	Driver string
	Runs   bool
	// Depth is what is hot; nil while another process has it, or out of reach.
	Depth *jobs.Depth
	// Backlog is what waits in rows, as it was last counted by the drain here;
	// nil when another process drains.
	Backlog *jobs.Backlog
	// Fault is why what is hot cannot be reached.
	Fault error
	// OverflowSince is when the oldest flag was raised that stands; zero is none.
	OverflowSince time.Time
}

// State looks at the queue. It never fails: what it cannot see it says.
func (q *Queue) State(ctx context.Context) State {
	s := State{Driver: "memory", Runs: q.c.Slots > 0}
	if q.redis != nil {
		s.Driver = "redis"
	} else if q.seat.set.Load() == nil {
		s.Runs = false
		return s
	}
	s.Backlog = q.DrainStats().Backlog
	depth, err := q.hot.Depth(ctx)
	if err != nil {
		s.Fault = err
		return s
	}
	s.Depth = &depth
	flags, err := q.hot.Flags(ctx)
	if err != nil {
		s.Fault = err
		return s
	}
	for _, f := range flags {
		if s.OverflowSince.IsZero() || f.Since.Before(s.OverflowSince) {
			s.OverflowSince = f.Since
		}
	}
	return s
}

// DrainStats are counts since the start, over all drains of this process, and the
// backlog if it drains now.
func (q *Queue) DrainStats() jobs.DrainStats { return q.drains.stats() }

// drains is the one that runs, and what those before it have counted.
type drains struct {
	mu   sync.Mutex
	now  *jobs.Drain // or nil
	past jobs.DrainStats
}

func (d *drains) current() *jobs.Drain {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *drains) next(drain *jobs.Drain) {
	past := d.stats()
	past.Backlog = nil
	d.mu.Lock()
	defer d.mu.Unlock()
	d.past, d.now = past, drain
}

func (d *drains) stats() jobs.DrainStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := d.past
	if d.now != nil {
		now := d.now.Stats()
		sum.Drained += now.Drained
		sum.Refused += now.Refused
		sum.Rebuffered += now.Rebuffered
		sum.Backlog = now.Backlog
	}
	return sum
}

// policy is what Redis does when its memory is full.
type policy struct {
	mu    sync.Mutex
	known string
}

// KeepsAll is the only maxmemory-policy under which Redis drops nothing.
const KeepsAll = "noeviction"

// CheckPolicy looks at what Redis does when its memory is full, and warns when
// that could drop jobs, once for each answer. It returns the warning, or "".
func (q *Queue) CheckPolicy(ctx context.Context) (string, error) {
	if q.redis == nil {
		return "", nil
	}
	name, err := EvictionPolicy(ctx, q.redis)
	if err != nil {
		return "", err
	}
	warning := ""
	if name != KeepsAll {
		warning = fmt.Sprintf("maxmemory-policy is %s: a full Redis drops jobs, which then wait until they are found missing (set it to %s)", name, KeepsAll)
	}
	q.policy.mu.Lock()
	defer q.policy.mu.Unlock()
	if q.policy.known != name && warning != "" {
		q.c.Log.Warn("Redis may drop jobs: set maxmemory-policy to "+KeepsAll, slog.String("maxmemory_policy", name))
	}
	q.policy.known = name
	return warning, nil
}

// EvictionPolicy is Redis's maxmemory-policy; of a cluster that of the first master
// with another than KeepsAll. INFO tells it also where CONFIG is forbidden, as with
// most who offer Redis as a service.
func EvictionPolicy(ctx context.Context, client redis.UniversalClient) (string, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return policyOf(ctx, client)
	}
	var mu sync.Mutex
	found := KeepsAll
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		name, err := policyOf(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && name != KeepsAll {
			found = name
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("ask the cluster's masters: %w", err)
	}
	return found, nil
}

func policyOf(ctx context.Context, client redis.Cmdable) (string, error) {
	info, err := client.Info(ctx, "memory").Result()
	if err != nil {
		return "", fmt.Errorf("ask Redis for its maxmemory-policy: %w", err)
	}
	for line := range strings.Lines(info) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:"); ok {
			return name, nil
		}
	}
	return "", fmt.Errorf("ask Redis for its maxmemory-policy: INFO does not tell it")
}
