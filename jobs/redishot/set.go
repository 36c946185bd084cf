package redishot

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/jobs"
)

// Set is a jobs.Hot. It is safe for concurrent use. It runs nothing of its own
// and leaves the client open.
type Set struct {
	client  redis.UniversalClient
	limits  jobs.Limits
	keys    []string
	scripts scripts
	pause   atomic.Int64 // between the last two looks of a Take that found nothing
}

var _ jobs.Hot = (*Set)(nil)

// New uses the set of a name, which is a part of its keys. All processes that use
// a set give the same limits: each keeps its own.
func New(client redis.UniversalClient, name string, limits jobs.Limits) (*Set, error) {
	if name == "" || strings.ContainsAny(name, "{}\r\n") {
		return nil, fmt.Errorf("hot set: the name is %q, want one without braces or line breaks", name)
	}
	limits = limits.WithDefaults()
	if err := limits.Validate(); err != nil {
		return nil, err
	}
	s := &Set{client: client, limits: limits, scripts: newScripts(limits)}
	// In the order in which the scripts' prelude names them.
	for _, key := range [...]string{"job", "fast", "slow", "lease", "delay", "meta", "pend", "key", "mark"} {
		s.keys = append(s.keys, "{"+name+"}:"+key)
	}
	return s, nil
}

const (
	jobKey  = 0
	metaKey = 5
	pendKey = 6
)

// Close does nothing: the client is the caller's.
func (s *Set) Close() error { return nil }

// Epoch is jobs.Hot's. It lies beside the counts: a set without it is empty.
func (s *Set) Epoch(ctx context.Context) (string, error) {
	var fresh [8]byte
	rand.Read(fresh[:])
	pipe := s.client.Pipeline()
	pipe.HSetNX(ctx, s.keys[metaKey], "epoch", hex.EncodeToString(fresh[:]))
	epoch := pipe.HGet(ctx, s.keys[metaKey], "epoch")
	if _, err := pipe.Exec(ctx); err != nil {
		return "", unavailable("read the epoch", err)
	}
	return epoch.Val(), nil
}

// unavailable marks every failure of the server or of the way to it. Its own
// refusals are among them (it is full, read-only or loading): they pass.
func unavailable(doing string, err error) error {
	if errors.Is(err, jobs.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%s: %w: %w", doing, jobs.ErrUnavailable, err)
}
