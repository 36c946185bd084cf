// Command rivals measures other job queues for the part "jobs" of the bench, which
// runs it as a process of its own. It is a module of its own, so that what it
// measures is no dependency of Postledger's.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/postledger/postledger/internal/bench/cost"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rivals:", err)
		os.Exit(1)
	}
}

// order is what a part is told, and answer what it tells: the bench's job and
// result, as far as they matter here.
type (
	order struct {
		URL   string // of an empty PostgreSQL database
		Redis string
		N     int
	}
	answer struct {
		cost.Used
		Peak int
	}
)

func run(args []string) error {
	parts := map[string]func(order) (cost.Used, error){
		"asynq-enqueue": asynqEnqueue,
		"asynq-process": asynqProcess,
		"river-insert":  riverInsert,
		"river-work":    riverWork,
	}
	if len(args) != 1 || parts[args[0]] == nil {
		return fmt.Errorf("no part is called %q", args)
	}
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	used, err := parts[args[0]](o)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	peak, err := cost.PeakKiB()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answer{used, peak})
}
