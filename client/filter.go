package client

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/postledger/postledger"
)

// MessageFilter chooses messages. Fields that are zero choose all; the others
// add up.
type MessageFilter struct {
	// App is for operators: an app's key sees its own only.
	App postledger.ID
	// Profile is a profile's name or id.
	Profile string
	Batch   postledger.ID
	// Statuses choose messages that have a delivery in one of them. A list
	// that is empty but not nil is refused.
	Statuses []postledger.Status
	// Since and Until bound acceptance: since <= created_at < until.
	Since, Until time.Time
	// RefID is the caller's own reference, if need be within RefScope.
	// Operators name App with it.
	RefScope, RefID string
	Lane            postledger.Lane
	// Recipient is a whole address, in any spelling.
	Recipient string
	// PageSize is how many rows are fetched at a time, at most 1,000; 0 is the
	// server's default (50).
	PageSize int
}

// DeliveryFilter chooses deliveries. Fields that are zero choose all; the
// others add up.
type DeliveryFilter struct {
	// App is for operators: an app's key sees its own only.
	App postledger.ID
	// Profile is a profile's name or id.
	Profile string
	Message postledger.ID
	Batch   postledger.ID
	// Statuses are any of the states. A list that is empty but not nil is
	// refused.
	Statuses []postledger.Status
	// Since and Until bound acceptance: since <= created_at < until.
	Since, Until time.Time
	// RefID is the caller's own reference, if need be within RefScope.
	// Operators name App with it.
	RefScope, RefID string
	Lane            postledger.Lane
	// Recipient is a whole address, in any spelling.
	Recipient string
	// Prefix is how the address begins, at least two characters.
	Prefix string
	// Domain of the address, and Contains, a text inside it, need Since and
	// Until, at most 31 days apart.
	Domain, Contains string
	// PageSize is how many rows are fetched at a time, at most 1,000; 0 is the
	// server's default (50).
	PageSize int
}

// parameters is a query without empty values, which the server refuses.
type parameters url.Values

func (p parameters) text(name, value string) {
	if value != "" {
		url.Values(p).Set(name, value)
	}
}

func (p parameters) id(name string, id postledger.ID) {
	if !id.IsZero() {
		url.Values(p).Set(name, id.String())
	}
}

func (p parameters) time(name string, t time.Time) {
	if !t.IsZero() {
		url.Values(p).Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}

func (p parameters) statuses(list []postledger.Status) {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	p.text("status", strings.Join(texts, ","))
	if list != nil && len(list) == 0 {
		// A list that came out empty must not mean all states: the server
		// refuses a parameter without a value.
		url.Values(p).Set("status", "")
	}
}

func (p parameters) size(n int) {
	if n > 0 {
		url.Values(p).Set("limit", strconv.Itoa(min(n, maxPage)))
	}
}

func (f *MessageFilter) query() url.Values {
	p := parameters{}
	p.id("app", f.App)
	p.text("profile", f.Profile)
	p.id("batch", f.Batch)
	p.statuses(f.Statuses)
	p.time("since", f.Since)
	p.time("until", f.Until)
	p.text("ref_scope", f.RefScope)
	p.text("ref_id", f.RefID)
	p.text("lane", string(f.Lane))
	p.text("recipient", f.Recipient)
	p.size(f.PageSize)
	return url.Values(p)
}

func (f *DeliveryFilter) query() url.Values {
	m := MessageFilter{
		App: f.App, Profile: f.Profile, Batch: f.Batch, Statuses: f.Statuses, Since: f.Since, Until: f.Until,
		RefScope: f.RefScope, RefID: f.RefID, Lane: f.Lane, Recipient: f.Recipient, PageSize: f.PageSize,
	}
	p := parameters(m.query())
	p.id("message", f.Message)
	p.text("prefix", f.Prefix)
	p.text("domain", f.Domain)
	p.text("contains", f.Contains)
	return url.Values(p)
}
