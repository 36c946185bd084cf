package app

import (
	"context"
	"net/http"
	"net/netip"
)

// SourceOf is sourceOf, which has no way in but a listener.
func SourceOf(trusted []netip.Prefix) func(*http.Request) string { return sourceOf(trusted) }

// NewReadiness makes readiness of checks.
func NewReadiness(checks map[string]func(context.Context) error) *Readiness {
	r := &readiness{}
	for name, run := range checks {
		r.checks = append(r.checks, check{name, run})
	}
	return (*Readiness)(r)
}

// Readiness is readiness, for tests.
type Readiness readiness

// Ready is its answer.
func (r *Readiness) Ready(ctx context.Context) error { return (*readiness)(r).Ready(ctx) }

// Stop makes every later answer a refusal.
func (r *Readiness) Stop() { (*readiness)(r).stop() }
