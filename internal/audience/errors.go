package audience

import (
	"errors"
	"fmt"
	"strings"

	"github.com/postledger/postledger/lens"
)

// Errors without details.
var (
	// ErrBusy: as many counts run as may, or previews without counts.
	ErrBusy = errors.New("as many audiences are being counted or looked at as may be at one time")
	// ErrTooLong: the count took longer than it may.
	ErrTooLong = errors.New("the count took longer than it may")
	// ErrStopped: the process stops.
	ErrStopped = errors.New("the count was stopped")
	// ErrSourceUnknown: no source has this name, or the app may not use it.
	ErrSourceUnknown = errors.New("no such source")
)

// Rules of fields, beside those that every request knows.
const (
	RuleRequired = "required"
	RuleUnknown  = "unknown"
	RuleLens     = "lens" // what the lens library finds
	RuleField    = "field_kind"
)

// Problem is one thing that is wrong with an audience, and where: "lens.where.age",
// "address", "params.since".
type Problem struct{ Field, Rule, Message string }

// InvalidError is everything that is wrong.
type InvalidError struct{ Problems []Problem }

func (e *InvalidError) Error() string {
	var parts []string
	for _, p := range e.Problems {
		parts = append(parts, p.Field+": "+p.Message)
	}
	return strings.Join(parts, "; ")
}

func invalid(field, rule, message string) *InvalidError {
	return &InvalidError{[]Problem{{field, rule, message}}}
}

// UnavailableError: the source cannot be used now; that is nobody's input.
type UnavailableError struct {
	Source string
	Err    error
}

func (e *UnavailableError) Error() string { return fmt.Sprintf("read source %s: %v", e.Source, e.Err) }

// Unwrap is what the database or the configuration said.
func (e *UnavailableError) Unwrap() error { return e.Err }

// faultsOf turns the lens library's faults into problems under a field; nil when
// the error is another, or is about a floor: that is no fault of who asks.
func faultsOf(err error) []Problem {
	if many, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // a tree is walked by hand
		var out []Problem
		for _, inner := range many.Unwrap() {
			found := faultsOf(inner)
			if found == nil {
				return nil
			}
			out = append(out, found...)
		}
		return out
	}
	var f *lens.Fault
	if !errors.As(err, &f) || f.Path == "scope" || strings.HasPrefix(f.Path, "scope.") {
		return nil
	}
	field := "lens"
	if f.Path != "" {
		field += "." + f.Path
	}
	return []Problem{{field, RuleLens, f.Problem}}
}

// asked says of parameters' values that they stand in the request, not in the lens.
func asked(problems []Problem) []Problem {
	for i := range problems {
		if name, ok := strings.CutPrefix(problems[i].Field, "lens.params."); ok {
			problems[i].Field = "params." + name
		}
	}
	return problems
}
