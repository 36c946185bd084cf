package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/postledger/postledger/internal/testserver"
)

// What the part "jobs" compares, by the names in the table.
const (
	jobOne        = "jobs: enqueue one by one"
	asynqOne      = "asynq: enqueue one by one"
	jobMany       = "jobs: enqueue a thousand at a time"
	jobRun        = "jobs: run what does nothing"
	asynqRun      = "asynq: run what does nothing"
	jobRows       = "jobs, always: enqueue a thousand at a time"
	riverRows     = "river: insert a thousand at a time"
	jobRowsRun    = "jobs, always: run what does nothing"
	riverRowsRun  = "river: run what does nothing"
	jobSpill      = "jobs: spill to PostgreSQL"
	bareRows      = "jobs: the same rows by a bare insert"
	jobDrain      = "jobs: drain from PostgreSQL"
	rivalsProgram = "internal/bench/rivals"
)

// rivals is the program that measures the other queues; "" when it cannot be had.
type rivals struct{ path string }

func (r rivals) run(part string, j job) (result, error) {
	return answerOf(exec.Command(r.path, part), part, j)
}

// prepareJobs starts Redis, makes databases and builds the rivals.
func (b *bench) prepareJobs() error {
	b.redis = testserver.PrivateRedis(b.s.host, "appendonly=no").URL()
	for _, name := range []string{"jobs", "river"} {
		url, err := b.s.create(name, "template0")
		if err != nil {
			return err
		}
		b.own[name] = place{url: url}
	}
	path := filepath.Join(b.s.dir, "rivals")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = rivalsProgram
	if out, err := build.CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || !sources() {
			return fmt.Errorf("build %s: %w", rivalsProgram, err)
		}
		b.figures.note(fmt.Sprintf("asynq and River were not measured: %s cannot be built here (its modules are downloaded once): %s", rivalsProgram, out))
		return nil
	}
	b.rivals.path = path
	return nil
}

// sources tells whether the bench runs in its repository.
func sources() bool {
	_, err := os.Stat(filepath.Join(rivalsProgram, "go.mod"))
	return err == nil
}

// jobSteps are measured one after the other, in turn from either end. The rates of
// what is slow are taken from fewer.
func (b *bench) jobSteps() []jobStep {
	ours, river := b.own["jobs"].url, b.own["river"].url
	n := b.o.jobs
	return []jobStep{
		{name: jobOne, part: "jobs-one", n: n},
		{name: asynqOne, part: "asynq-enqueue", n: n, rival: true},
		{name: jobMany, part: "jobs-many", n: 5 * n},
		{name: jobRun, part: "jobs-run", n: 5 * n},
		{name: asynqRun, part: "asynq-process", n: n, rival: true},
		{name: jobRows, part: "jobs-rows", url: ours, n: 2 * n},
		{name: riverRows, part: "river-insert", url: river, n: 2 * n, rival: true},
		{name: jobRowsRun, part: "jobs-rows-run", url: ours, n: 2 * n},
		{name: riverRowsRun, part: "river-work", url: river, n: 2 * n, rival: true},
		{name: jobSpill, part: "jobs-spill", url: ours, n: 2 * n},
		{name: bareRows, part: "bare-rows", url: ours, n: 2 * n},
		{name: jobDrain, part: "jobs-drain", url: ours, n: 2 * n},
	}
}

type jobStep struct {
	name, part, url string
	n               int
	rival           bool
}

func (b *bench) jobs(i int) error {
	steps := b.jobSteps()
	if i%2 == 1 {
		slices.Reverse(steps)
	}
	for _, s := range steps {
		if s.rival && b.rivals.path == "" {
			continue
		}
		j := job{URL: s.url, Redis: b.redis, N: s.n, Run: i}
		if b.o.profiles != "" && i == b.o.pairs-1 && !s.rival {
			j.Profile = filepath.Join(b.o.profiles, s.part+".pprof")
		}
		measure := run
		if s.rival {
			measure = b.rivals.run
		}
		r, err := measure(s.part, j)
		if err != nil {
			return err
		}
		b.figures.add(s.name, s.n, r)
	}
	return nil
}

func (b *bench) judgeJobs() error {
	f := b.figures
	if b.rivals.path != "" {
		f.atMost("CPU of a job enqueued by itself, with Redis's, of asynq's", jobOne, asynqOne, cpuOf, 1.0)
		f.atLeast("rate of enqueueing a thousand jobs at a time, of asynq's one by one", jobMany, asynqOne, rateOf, 4.0)
		f.atLeast("rate of running jobs that do nothing, of asynq's", jobRun, asynqRun, rateOf, 2.0)
		f.atLeast("rate of enqueueing in mode always, of River's insert (COPY)", jobRows, riverRows, rateOf, 0.8)
		f.atLeast("rate of running in mode always, of River's", jobRowsRun, riverRowsRun, rateOf, 0.8)
	}
	f.either("rate of spilling to PostgreSQL, of a bare insert of the same rows", jobSpill, bareRows, 0.5, 25_000)
	f.atLeast("rate of draining from PostgreSQL, of enqueueing a thousand at a time", jobDrain, jobMany, rateOf, 0.5)
	return nil
}
