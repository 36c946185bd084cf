package ledger

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/postledger/postledger"
)

// ErrFilterTooBroad: no index serves the filter on a large ledger.
var ErrFilterTooBroad = errors.New("the filter is too broad")

// FilterError names the field of a filter that breaks a rule.
type FilterError struct{ Field, Rule string }

func (e *FilterError) Error() string { return e.Field + " " + e.Rule }

func tooBroad(why string) error { return fmt.Errorf("%w: %s", ErrFilterTooBroad, why) }

// Filter chooses rows of a list. Zero fields choose all; fields add up
// ("and"). A caller with an app's key sets App.
type Filter struct {
	App     postledger.ID `json:"app"`
	Profile postledger.ID `json:"profile"`
	// IDs are the rows themselves, at most MaxPage.
	IDs     []postledger.ID `json:"ids,omitempty"`
	Message postledger.ID   `json:"message"`
	Batch   postledger.ID   `json:"batch"`
	// Statuses are any of the states; for messages: that have a delivery in
	// one of them.
	Statuses []postledger.Status `json:"statuses,omitempty"`
	// Since and Until bound created_at: since <= created_at < until.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// RefScope and RefID are the caller's own reference; the id needs App.
	RefScope string          `json:"ref_scope"`
	RefID    string          `json:"ref_id"`
	Lane     postledger.Lane `json:"lane"`
	// Recipient is a folded address; the next three look at folded addresses
	// too, and only in lists of deliveries.
	Recipient string `json:"recipient"`
	Domain    string `json:"domain"`
	Prefix    string `json:"prefix"`
	Contains  string `json:"contains"`
	// Reason is why a delivery is in its state. Only selections look at it.
	Reason postledger.Reason `json:"reason,omitempty"`
}

const (
	// maxSearchSpan bounds since..until of a search that reads every address.
	maxSearchSpan = 31 * 24 * time.Hour
	// minPrefix is the shortest prefix.
	minPrefix = 2
)

func (f *Filter) check() error {
	switch {
	case f.Reason != "":
		// A list that passed it over would show more than was asked for.
		return &FilterError{"reason", "chooses for decisions only"}
	case len(f.IDs) > MaxPage:
		return &FilterError{"ids", fmt.Sprintf("must not be more than %d", MaxPage)}
	case f.Lane != "" && !f.Lane.Valid():
		return &FilterError{"lane", "must be immediate or bulk"}
	case f.RefScope != "" && f.RefID == "":
		return &FilterError{"ref_scope", "needs ref_id"}
	case f.RefID != "" && f.App.IsZero():
		return tooBroad("ref_id needs an app")
	case f.Prefix != "" && len(f.Prefix) < minPrefix:
		return &FilterError{"prefix", fmt.Sprintf("must have at least %d bytes", minPrefix)}
	case !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until):
		return &FilterError{"since", "must be before until"}
	}
	for _, s := range f.Statuses {
		if !s.Valid() {
			return &FilterError{"status", fmt.Sprintf("%q is not a state", s)}
		}
	}
	if f.Contains != "" || f.Domain != "" {
		if f.App.IsZero() {
			return tooBroad("a search in addresses needs an app")
		}
		if f.Since.IsZero() || f.Until.IsZero() || f.Until.Sub(f.Since) > maxSearchSpan {
			return tooBroad("a search in addresses needs since and until, at most 31 days apart")
		}
	}
	return nil
}

// cond is a condition with its arguments.
type cond struct {
	sql  string
	args []any
}

func (c *cond) and(sql string, args ...any) {
	if c.sql != "" {
		c.sql += " AND "
	}
	c.sql += sql
	c.args = append(c.args, args...)
}

func (c cond) with(o cond) cond {
	out := cond{c.sql, append([]any(nil), c.args...)}
	if o.sql != "" {
		out.and(o.sql, o.args...)
	}
	return out
}

// An id is made when its request comes in, created_at is the commit's moment
// by the ledger's clock: a slow upload or two clocks put them apart. Ids bound
// what is read, created_at what is shown.
const (
	idMayBeEarlier = time.Hour
	idMayBeLater   = 5 * time.Minute
)

// empty: nothing but states is asked for.
func (f *Filter) empty() bool {
	return f.App.IsZero() && f.Profile.IsZero() && len(f.IDs) == 0 && f.Message.IsZero() && f.Batch.IsZero() &&
		f.Since.IsZero() && f.Until.IsZero() && f.RefID == "" && f.Lane == "" &&
		f.Recipient == "" && f.Domain == "" && f.Prefix == "" && f.Contains == "" && f.Reason == ""
}

// normal is the filter as its hash sees it: equal filters have equal text.
func (f Filter) normal() Filter {
	f.Since, f.Until = f.Since.UTC(), f.Until.UTC()
	f.IDs = slices.Clone(f.IDs)
	slices.SortFunc(f.IDs, compareIDs)
	f.IDs = slices.Compact(f.IDs)
	f.Statuses = slices.Clone(f.Statuses)
	slices.Sort(f.Statuses)
	f.Statuses = slices.Compact(f.Statuses)
	return f
}

// idRange is what since and until make of the ids: low <= id < high.
func idRange(since, until time.Time) (low, high postledger.ID) {
	high = lastID
	if !since.IsZero() {
		low = idAt(since.Add(-idMayBeEarlier))
	}
	if !until.IsZero() {
		high = idAt(until.Add(idMayBeLater))
	}
	return low, high
}

// timed are the conditions of since and until on a column.
func timed(column string, since, until time.Time) cond {
	var c cond
	if !since.IsZero() {
		c.and(column+" >= ?", since.UnixMicro())
	}
	if !until.IsZero() {
		c.and(column+" < ?", until.UnixMicro())
	}
	return c
}

// idAt is the lowest id of a millisecond.
func idAt(t time.Time) postledger.ID {
	var id postledger.ID
	ms := uint64(max(0, t.UnixMilli()))
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}
