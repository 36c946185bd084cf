package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// stepOf says which step a function belongs to; the innermost one that does
// decides for a sample.
var stepOf = []struct{ in, step string }{
	{"/internal/mime.", "MIME"},
	{"/internal/mime/dkim.", "MIME"},
	{"/internal/transport/", "wire"},
	{"/internal/deliver/journal.", "journal"},
	{"(*Ledger).LoadToSend", "load"},
	{"deliver.(*Worker).load", "load"},
	{"(*Ledger).Lease", "lease"},
	{"deliver.(*Worker).lease", "lease"},
	{"(*Ledger).SettleBy", "settle"},
	{"/internal/settle.", "settle"},
	{"deliver.(*Worker).hand", "settle"},
	{"runtime.gcBgMarkWorker", "garbage collection"},
	{"runtime.bgsweep", "garbage collection"},
	{"/internal/deliver.", "between the steps"},
}

// steps are what a profile is divided into.
func steps() []string {
	return []string{"lease", "load", "MIME", "wire", "journal", "settle", "between the steps", "garbage collection", "scheduler and the rest"}
}

// sharesOf divides the samples of a CPU profile among the steps.
func sharesOf(file string) (map[string]float64, error) {
	out, err := exec.Command("go", "tool", "pprof", "-traces", "-nodefraction=0", "-edgefraction=0", file).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("read the CPU profile: %w", err)
	}
	return sharesOfTraces(string(out))
}

// sharesOfTraces reads what "go tool pprof -traces" prints: samples between
// lines, each the time and the innermost function, then its callers.
func sharesOfTraces(traces string) (map[string]float64, error) {
	shares, total := map[string]float64{}, 0.0
	samples := strings.Split(traces, "-----------+-")
	if len(samples) < 2 {
		return nil, errors.New("read the CPU profile: it has no samples")
	}
	for _, sample := range samples[1:] {
		_, sample, _ = strings.Cut(sample, "\n") // the rest of the line
		fields := strings.Fields(sample)
		if len(fields) < 2 {
			continue
		}
		at, err := seconds(fields[0])
		if err != nil {
			return nil, err
		}
		total += at
		shares[stepOfStack(fields[1:])] += at
	}
	if total == 0 {
		return nil, errors.New("read the CPU profile: it has no samples")
	}
	for step := range shares {
		shares[step] /= total
	}
	return shares, nil
}

func stepOfStack(functions []string) string {
	for _, fn := range functions {
		for _, s := range stepOf {
			if strings.Contains(fn, s.in) {
				return s.step
			}
		}
	}
	return "scheduler and the rest"
}

// seconds reads a time as pprof writes it: 10ms, 1.20s, 2.5mins.
func seconds(s string) (float64, error) {
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	unit, ok := map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "mins": 60, "hrs": 3600}[s[len(number):]]
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok {
		return 0, fmt.Errorf("read the CPU profile: %q is no time", s)
	}
	return v * unit, nil
}

// shares runs bulk once more on each database, under a profiler, and tells
// where the time went. These runs are compared with nothing.
func (b *bench) shares() error {
	dir := b.o.profiles
	if dir == "" {
		dir = b.s.dir
	}
	for _, on := range []struct {
		name, url string
		world     world
	}{{bulkPostgres, b.s.postgres, b.pg}, {bulkSQLite, b.sqlite(), b.lite}} {
		j := b.bulkJob("shares")
		j.URL, j.World, j.Run = on.url, on.world, b.o.pairs
		if _, err := run("load", j); err != nil {
			return err
		}
		j.Profile = filepath.Join(dir, "shares.pprof")
		delivers := func() error { _, err := run("bulk", j); return err }
		var err error
		var cost []statement
		if isPostgres(on.url) && b.s.statements {
			cost, err = b.s.statementsOf(on.url, delivers)
		} else {
			err = delivers()
		}
		if err != nil {
			return err
		}
		shares, err := sharesOf(j.Profile)
		if err != nil {
			return err
		}
		for _, step := range steps() {
			b.figures.tell(on.name+": share of the process's CPU: "+step, 100*shares[step], "%")
		}
		b.tellStatements(on.name, cost, j.N)
	}
	return nil
}

// tellStatements tells what cost most; the rest is a line.
func (b *bench) tellStatements(name string, cost []statement, n int) {
	const most = 6
	rest := 0.0
	for i, s := range cost {
		if i >= most {
			rest += s.us
			continue
		}
		text := s.text
		if r := []rune(text); len(r) > 60 {
			text = string(r[:60]) + "…"
		}
		b.figures.tell(fmt.Sprintf("%s: PostgreSQL: %s, %d calls", name, text, s.calls), s.us/float64(n), "µs each")
	}
	if len(cost) > 0 {
		b.figures.tell(name+": PostgreSQL: other statements", rest/float64(n), "µs each")
	}
}
