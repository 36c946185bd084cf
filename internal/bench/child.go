package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/bench/cost"
)

// childVerb makes this program a measured part of itself.
const childVerb = "part"

// job is what a part is told.
type job struct {
	URL     string // of the database
	Sink    string // host:port
	Redis   string // URL of the server
	N       int
	Clients int
	// Batch is how many deliveries are leased at once, where that is fixed.
	Batch int
	// Shared: all messages have the same bodies.
	Shared bool
	// Run tells apart what the runs on one database write.
	Run int
	// Record is a copy of the database that may be used up.
	Record  string
	Dir     string
	Profile string // file for a CPU profile; "" takes none
	World   world
}

// world is the app that Postledger's parts work for, its profiles and its API
// keys, and a neighbour of either kind.
type world struct {
	App, Other       postledger.ID
	Main, Held, Late postledger.Profile
	Tokens           []string
}

// result is what a part answers.
type result struct {
	Seconds float64
	// Self and Server are µs of CPU: of the part, and of its PostgreSQL backends.
	Self, Server float64
	// Peak is the part's largest resident size, in KiB.
	Peak int
	// Lease and Settle are the rows of one such transaction, on average.
	Lease, Settle float64
	World         world
	// Values are what a part measures that is none of these.
	Values map[string]float64
}

// parts are the measured programs.
func parts() map[string]func(*job) (result, error) {
	return map[string]func(*job) (result, error){
		"prepare":       prepare,
		"load":          load,
		"bulk":          bulk,
		"accept":        acceptDirect,
		"http":          acceptHTTP,
		"http-batches":  acceptBatches,
		"floor-prepare": floorPrepare,
		"floor-load":    floorLoad,
		"floor-bulk":    floorBulk,
		"ledger-alone":  ledgerAlone,
		"ledger-bare":   ledgerBare,
		"wire":          sendAtDistance,
		"sign":          signAndRecord,
		"bare-postgres": barePostgres,
		"bare-sqlite":   bareSQLite,
		"lens-load":     lensLoad,
		"lens-bare":     lensBare,
		"lens-stream":   lensStream,
		"jobs-one":      jobsOne,
		"jobs-many":     jobsMany,
		"jobs-run":      jobsRun,
		"jobs-rows":     jobsRows,
		"jobs-rows-run": jobsRowsRun,
		"jobs-spill":    jobsSpill,
		"jobs-drain":    jobsDrain,
		"bare-rows":     bareRowsPart,
		"operator":      operator,
		"told-floor":    tellFloor,
	}
}

func runChild(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("a part needs a name")
	}
	if args[0] == sinkPart {
		return serveSink(in, out)
	}
	if args[0] == receiverPart {
		return serveReceiver(in, out)
	}
	if start := attendedParts()[args[0]]; start != nil {
		return runAttended(start, in, out)
	}
	part, ok := parts()[args[0]]
	if !ok {
		return fmt.Errorf("no part is called %s", args[0])
	}
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	if j.Profile != "" && !strings.HasPrefix(args[0], "http") {
		f, err := os.Create(j.Profile)
		if err != nil {
			return fmt.Errorf("create profile: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("start profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	r, err := part(&j)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if r.Peak, err = cost.PeakKiB(); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// run runs a part in a process of its own.
func run(part string, j job) (result, error) {
	self, err := os.Executable()
	if err != nil {
		return result{}, fmt.Errorf("find this program: %w", err)
	}
	return answerOf(exec.Command(self, childVerb, part), part, j)
}

// answerOf runs a program that takes a job and answers with a result.
func answerOf(cmd *exec.Cmd, part string, j job) (result, error) {
	var r result
	in, err := json.Marshal(j)
	if err != nil {
		return r, fmt.Errorf("encode the job: %w", err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return r, fmt.Errorf("run %s: %w", part, err)
	}
	go func() {
		_, _ = stdin.Write(in) // a part that does not read it fails by itself
		stdin.Close()
	}()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("run %s: %w", part, err)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("read the answer of %s: %w", part, err)
	}
	return r, nil
}
