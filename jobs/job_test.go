package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*jobs.Job)
		want   string // part of the message; empty when the job is good
	}{
		"least":                 {func(*jobs.Job) {}, ""},
		"payload at its limit":  {func(j *jobs.Job) { j.Payload = make([]byte, jobs.MaxPayload) }, ""},
		"payload above":         {func(j *jobs.Job) { j.Payload = make([]byte, jobs.MaxPayload+1) }, "payload has 65537 bytes, at most 65536"},
		"no handler":            {func(j *jobs.Job) { j.Handler = "" }, "handler is empty"},
		"long handler":          {func(j *jobs.Job) { j.Handler = strings.Repeat("a", jobs.MaxName+1) }, "handler has 129 bytes"},
		"handler with a blank":  {func(j *jobs.Job) { j.Handler = "a b" }, "handler has characters"},
		"handler not ASCII":     {func(j *jobs.Job) { j.Handler = "ä" }, "handler has characters"},
		"unknown kind":          {func(j *jobs.Job) { j.Kind = 3 }, "kind is 3"},
		"unknown lane":          {func(j *jobs.Job) { j.Lane = "bulk" }, `lane is "bulk"`},
		"negative attempts":     {func(j *jobs.Job) { j.MaxAttempts = -1 }, "max attempts is -1"},
		"too many attempts":     {func(j *jobs.Job) { j.MaxAttempts = jobs.MaxAttempts + 1 }, "max attempts is 1001"},
		"negative timeout":      {func(j *jobs.Job) { j.Timeout = -1 }, "timeout is -1ns"},
		"long timeout":          {func(j *jobs.Job) { j.Timeout = jobs.MaxTimeout + 1 }, "timeout is"},
		"long dedupe key":       {func(j *jobs.Job) { j.DedupeKey = strings.Repeat("k", jobs.MaxKey+1) }, "dedupe key has 256 bytes"},
		"dedupe key with a NUL": {func(j *jobs.Job) { j.DedupeKey = "a\x00" }, "dedupe key has a control"},
		"group not UTF-8":       {func(j *jobs.Job) { j.Group = "\xff" }, "group is not UTF-8"},
		"everything": {func(j *jobs.Job) {
			j.Kind, j.Lane, j.DedupeKey, j.Group, j.Bypass = jobs.Trigger, jobs.Slow, "käse", strings.Repeat("g", jobs.MaxKey), true
			j.MaxAttempts, j.Timeout = jobs.MaxAttempts, jobs.MaxTimeout
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := jobs.Job{Handler: "mail.send"}
			test.change(&job)
			err := job.Validate()
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want != "" && (!errors.Is(err, jobs.ErrBadJob) || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("%v, want a bad job whose %s", err, test.want)
			}
			if large := len(job.Payload) > jobs.MaxPayload; errors.Is(err, jobs.ErrPayloadTooLarge) != large {
				t.Fatalf("%v, payload too large: %v", err, large)
			}
		})
	}
}

func TestKindNames(t *testing.T) {
	t.Parallel()
	for _, kind := range []jobs.Kind{jobs.Adhoc, jobs.Cron, jobs.Trigger} {
		got, err := jobs.ParseKind(kind.String())
		if err != nil || got != kind {
			t.Errorf("%v: %v, %v", kind, got, err)
		}
	}
	if _, err := jobs.ParseKind("unknown"); !errors.Is(err, jobs.ErrBadJob) {
		t.Errorf("parsed an unknown kind: %v", err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	good := jobs.Limits{}.WithDefaults()
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(*jobs.Limits){
		"jobs":        func(l *jobs.Limits) { l.Jobs = 1 },
		"slow share":  func(l *jobs.Limits) { l.SlowShare = 1.5 },
		"bytes":       func(l *jobs.Limits) { l.Bytes = 100 << 10 },
		"group share": func(l *jobs.Limits) { l.GroupShare = -1 },
		"flag life":   func(l *jobs.Limits) { l.FlagLife = -1 },
		"low water":   func(l *jobs.Limits) { l.LowWater = -0.5 },
	}
	for field, change := range tests {
		limits := good
		change(&limits)
		if err := limits.Validate(); err == nil || !strings.Contains(err.Error(), field+" is") {
			t.Errorf("bad %s: %v", field, err)
		}
	}
}

func TestCostIsWhatAnAllocatorTakes(t *testing.T) {
	t.Parallel()
	cost := func(payload int) int64 {
		return (&jobs.Entry{Job: jobs.Job{Handler: "h", Payload: make([]byte, payload)}}).HotCost()
	}
	if got, want := cost(jobs.MaxPayload), int64(80<<10); got < want {
		t.Errorf("the largest payload costs %d, an allocator takes %d", got, want)
	}
	for size := range 5000 {
		if c := cost(size); c < int64(size)+100 || c > int64(float64(size)*1.3)+500 {
			t.Fatalf("a payload of %d costs %d", size, c)
		}
	}
}

var moment = time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC)
