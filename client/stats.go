package client

import (
	"context"
	"net/url"
	"time"

	"github.com/postledger/postledger"
)

// Stats is what happened hour by hour. The counters stay when the deliveries
// are removed by retention.
type Stats struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Hours are oldest first; those in which nothing happened are left out.
	Hours []HourStats `json:"hours"`
}

// HourStats is what happened in one hour.
type HourStats struct {
	Hour time.Time `json:"hour"`
	// Messages and Deliveries were accepted in it.
	Messages   int64 `json:"messages"`
	Deliveries int64 `json:"deliveries"`
	// Settled counts deliveries that came to a settled state in it, less those
	// that left it: a resolved delivery is one less unconfirmed.
	Settled []SettledCount `json:"settled"`
}

// SettledCount is a number of deliveries in a state for a reason.
type SettledCount struct {
	Status postledger.Status `json:"status"`
	// Reason is sandbox where nothing left the machine.
	Reason postledger.Reason `json:"reason"`
	N      int64             `json:"n"`
}

// StatsFilter chooses what is counted.
type StatsFilter struct {
	// App is for operators: an app's key sees its own only.
	App postledger.ID
	// Profile is a profile's name or id.
	Profile string
	Lane    postledger.Lane
	// Since and Until are taken to whole hours, at most 93 days apart. Until
	// is now, and Since 24 hours before it, if they are zero.
	Since, Until time.Time
}

// Stats counts by hour. Errors: ErrBadInput, ErrFilterTooBroad; scope read, or
// admin for operators.
func (c *Client) Stats(ctx context.Context, f StatsFilter) (*Stats, error) {
	p := parameters{}
	p.id("app", f.App)
	p.text("profile", f.Profile)
	p.text("lane", string(f.Lane))
	p.time("since", f.Since)
	p.time("until", f.Until)
	cl := get("read stats", "/v1/stats")
	cl.query = url.Values(p)
	return ask[Stats](ctx, c, cl)
}
