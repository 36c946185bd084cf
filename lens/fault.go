package lens

import (
	"errors"
	"fmt"
)

// Fault is one thing that is wrong with a lens, and where.
type Fault struct {
	// Path leads to it: where.all[1].orders.some.total.gte.
	Path    string
	Problem string
}

func (f *Fault) Error() string {
	if f.Path == "" {
		return f.Problem
	}
	return f.Path + ": " + f.Problem
}

// mostFaults are reported of one lens; whoever has more mends these first.
const mostFaults = 20

type faults []error

func (f *faults) add(path, format string, args ...any) {
	if len(*f) < mostFaults {
		*f = append(*f, &Fault{Path: path, Problem: fmt.Sprintf(format, args...)})
	}
}

func (f faults) err() error { return errors.Join(f...) }
