package redishot

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/postledger/postledger/jobs"
)

//go:embed *.lua
var sources embed.FS

// scripts have the limits written into them: a call carries only what differs.
type scripts struct {
	add, take, ack, giveBack, extend, contains, depth, flags *redis.Script
}

const (
	// mostBytes bounds what one call sends or is answered (a job's record more):
	// the server keeps both in buffers that count as its memory.
	mostBytes = 256 << 10
	// mostJobs bounds the time that one call takes from others, some 2 ms.
	mostJobs = 500
)

func newScripts(limits jobs.Limits) scripts {
	var head strings.Builder
	for _, constant := range [...]struct {
		name  string
		value int64
	}{
		{"JOBS", int64(limits.Jobs)},
		{"BYTES", limits.Bytes},
		{"SLOW_JOBS", int64(limits.SlowJobs())},
		{"SLOW_BYTES", limits.SlowBytes()},
		{"RESERVE_JOBS", int64(limits.ReserveJobs())},
		{"RESERVE_BYTES", limits.ReserveBytes()},
		{"SHARE", int64(limits.GroupShare)},
		{"LIFE", limits.FlagLife.Milliseconds()},
		{"HORIZON", jobs.HotHorizon.Milliseconds()},
		{"MAX_LEASE", jobs.MaxLease.Milliseconds()},
		{"ANSWER", mostBytes},
		{"OVERHEAD", jobs.RecordCost(64) - 64},
	} {
		fmt.Fprintf(&head, "local %s = %d\n", constant.name, constant.value)
	}
	fmt.Fprintf(&head, "local LOW = %s\n", strconv.FormatFloat(limits.LowWater, 'f', -1, 64))
	head.WriteString(source("prelude"))
	script := func(name string) *redis.Script { return redis.NewScript(head.String() + source(name)) }
	return scripts{
		add: script("add"), take: script("take"), ack: script("ack"), giveBack: script("return"),
		extend: script("extend"), contains: script("contains"), depth: script("depth"), flags: script("flags"),
	}
}

func source(name string) string {
	text, err := sources.ReadFile(name + ".lua")
	if err != nil {
		panic(err) // it is in the binary
	}
	return string(text)
}

func (s *Set) run(ctx context.Context, script *redis.Script, args []any) *redis.Cmd {
	return script.Run(ctx, s.client, s.keys, args...)
}

// letters runs a script that answers one letter for each of n jobs.
func (s *Set) letters(ctx context.Context, script *redis.Script, args []any, n int) (string, error) {
	text, err := s.run(ctx, script, args).Text()
	if err != nil {
		return "", err
	}
	if len(text) != n {
		return "", fmt.Errorf("answered for %d jobs of %d", len(text), n)
	}
	return text, nil
}
