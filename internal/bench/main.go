package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// options say how much is measured.
type options struct {
	n, accepts, pairs int
	// behind is how many deliveries the late ones stand behind.
	behind int
	// many is how many a server has delivered when its memory is looked at.
	many int
	// users is how many rows a lens streams.
	users int
	// jobs is how many jobs of a queue are enqueued one by one.
	jobs          int
	full          bool
	out, profiles string
	only          string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == childVerb {
		if err := runChild(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.IntVar(&o.n, "n", 6_000, "messages of one bulk run")
	flag.IntVar(&o.accepts, "accepts", 2_500, "requests of one accept run")
	flag.IntVar(&o.pairs, "pairs", 7, "pairs of runs")
	flag.IntVar(&o.behind, "behind", 20_000, "deliveries that the late ones of -only fair stand behind")
	flag.IntVar(&o.many, "many", 300_000, "messages of a memory run")
	flag.IntVar(&o.users, "users", 100_000, "rows that a lens streams")
	flag.IntVar(&o.jobs, "jobs", 20_000, "jobs of one run by themselves, the multiple of others")
	flag.StringVar(&o.out, "out", "bench.json", "file for the figures")
	flag.StringVar(&o.profiles, "profiles", "", "directory for CPU profiles of the last pair")
	flag.StringVar(&o.only, "only", "", "measure only these, with commas between: "+sectionNames())
	flag.BoolVar(&o.full, "full", false, "100,000 messages a run and behind, 10,000 requests, a million users, and memory: hours, not minutes")
	short := flag.Bool("short", false, "three small pairs: shows that it works, and little more")
	flag.Parse()
	if *short {
		o.n, o.accepts, o.pairs, o.behind, o.users, o.jobs = 2_000, 1_000, 3, 5_000, 20_000, 10_000
	}
	if o.full {
		o.n, o.accepts, o.behind, o.users, o.jobs = 100_000, 10_000, 100_000, 1_000_000, 100_000
	}
	if flag.NArg() > 0 || o.n < 100 || o.accepts < 100 || o.pairs < 1 || o.behind < 100 || o.many < 100 || o.users < 100 || o.jobs < 1000 {
		flag.Usage()
		os.Exit(2)
	}
	began := time.Now()
	ok := false
	err := onServers(func(s *servers) error {
		figures, err := measure(s, o)
		if err != nil {
			return err
		}
		ok = figures.ok()
		figures.print(os.Stdout)
		fmt.Printf("\n%d pairs of %d messages and %d requests in %s\n", o.pairs, o.n, o.accepts, time.Since(began).Round(time.Second))
		return figures.write(o.out)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}
