package api

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/audience"
)

// busyRetry is how long who finds all counts taken should wait.
const busyRetry = 10 * time.Second

// audienceProblem is the refusal of the step that checks and counts; under says
// where in the request the audience stands.
func audienceProblem(err error, under string) error {
	var wrong *audience.InvalidError
	var down *audience.UnavailableError
	var p *Problem
	switch {
	case errors.As(err, &wrong):
		p = problem(codeInvalidAudience, "")
		for _, f := range wrong.Problems {
			name := safePath(f.Field)
			if under != "" && !strings.HasPrefix(name, "params") {
				name = under + "." + name
			}
			p.Errors = append(p.Errors, FieldError{name, accept.Rule(f.Rule), f.Message})
		}
	case errors.As(err, &down):
		// What the database says may name what the caller must not see.
		p = problem(codeSourceUnavailable, "source "+down.Source+" cannot be read now; the server's log says why")
		p.retryAfter = unavailableRetry
	case errors.Is(err, audience.ErrBusy):
		p = problem(codeOverloaded, "as many audiences are being counted or looked at as may be at one time")
		p.retryAfter = busyRetry
	case errors.Is(err, audience.ErrTooLong):
		p = problem(codeCountTimeout, "")
	case errors.Is(err, audience.ErrStopped), errors.Is(err, context.Canceled):
		p = problem(codeUnavailable, "the server stops, or the caller went away")
		p.retryAfter = unavailableRetry
	default:
		return err
	}
	p.cause = err
	return p
}

// pathPart is a part of a path as an answer, and the audit trail after it, may show
// it: a name as databases have them, with positions.
var pathPart = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}(\[[0-9]{1,6}\])*$`)

// safePath is where something stands in a lens. A part that is no name may be
// anything that somebody has pasted.
func safePath(path string) string {
	parts := strings.Split(path, ".")
	for i, part := range parts {
		if !pathPart.MatchString(part) && !strings.HasPrefix(part, "param ") {
			// It may hold dots, so that what follows may be the rest of it.
			return strings.Join(append(parts[:i:i], "(a name that is not shown)"), ".")
		}
	}
	return strings.Join(parts, ".")
}
