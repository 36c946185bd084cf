package client

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
)

// Profile is a configured sending identity, without its secrets.
type Profile struct {
	ID   postledger.ID `json:"id"`
	Name string        `json:"name"`
	// Revision grows with every change; a change names the one it was made
	// from.
	Revision  int64 `json:"revision"`
	IsDefault bool  `json:"is_default"`
	postledger.ProfileConfig
	// HasPassword and HasDKIMKey: there is one. Neither is ever shown.
	HasPassword bool `json:"has_password"`
	HasDKIMKey  bool `json:"has_dkim_key"`
	// Paused says since when and why nothing leaves; nil while mail leaves.
	Paused *Paused `json:"paused"`
	// Health is the next hop as the answering process sees it; nil if it does
	// not know.
	Health    *Health   `json:"health"`
	Waiting   Waiting   `json:"waiting"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// RemovedAt is zero while it is there.
	RemovedAt time.Time `json:"removed_at"`
}

// Paused is a profile's pause. What waits does not expire by the clock; only a
// caller's own deadline passes.
type Paused struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	// Alarm: Postledger paused it by itself, and why.
	Alarm string `json:"alarm"`
}

// Health is the state of a profile's next hop.
type Health struct {
	// State is up, down or paused.
	State string    `json:"state"`
	Since time.Time `json:"since"`
	// Reason is the failure that speaks for the state: its class, where it
	// arose, the hop's codes, and what was found where the hop said nothing,
	// such as its certificate's fault.
	Reason       string    `json:"reason"`
	NextProbe    time.Time `json:"next_probe"`
	FailedProbes int       `json:"failed_probes"`
}

// Waiting is what waits on a profile to be sent.
type Waiting struct {
	// N counts queued deliveries, due or not, up to 10,000; More says that
	// there are more.
	N    int  `json:"n"`
	More bool `json:"more"`
	// OldestDue is the earliest time that one of them is or was due, and
	// LateSeconds how long ago that was; 0 when it is still to come.
	OldestDue   time.Time `json:"oldest_due"`
	LateSeconds int64     `json:"late_seconds"`
}

// ProfileChange is a profile as an operator writes it. It replaces the profile
// as a whole, secrets apart.
type ProfileChange struct {
	// Revision is that of the profile the change was made from; 0 creates one.
	Revision int64 `json:"revision"`
	// Name renames the profile; empty keeps the name.
	Name string `json:"name,omitempty"`
	// IsDefault makes it the default profile. The first one becomes it by
	// itself.
	IsDefault bool `json:"is_default,omitempty"`
	postledger.ProfileConfig
	// Password and DKIMKey (PEM): nil keeps what is there, an empty one removes
	// it. A changed host, port or user name needs the password again, a changed
	// DKIM domain the key.
	Password *string `json:"password,omitempty"`
	DKIMKey  *string `json:"dkim_key,omitempty"`
}

// ProfileTest is what became of a test message.
type ProfileTest struct {
	MessageID postledger.ID `json:"message_id"`
	// Settled: the outcome is known; else it is still being tried.
	Settled  bool     `json:"settled"`
	Delivery Delivery `json:"delivery"`
	Events   []Event  `json:"events"`
}

// Profiles lists the profiles by name, with those that were removed. Scope
// admin.
func (c *Client) Profiles(ctx context.Context) ([]Profile, error) {
	return all[Profile](ctx, c, get("list profiles", "/v1/profiles"))
}

// Profile reads a profile by name or id. Errors: ErrProfileUnknown; scope admin.
func (c *Client) Profile(ctx context.Context, nameOrID string) (*Profile, error) {
	return ask[Profile](ctx, c, get("read profile", at("/v1/profiles", nameOrID)))
}

// PutProfile creates or changes a profile. A name has 1 to 63 of a-z, 0-9, '.',
// '_' and '-', and begins with a letter or digit. It is not repeated by itself
// when its answer is lost: ErrRevisionConflict would say nothing then. Errors:
// ErrInvalidProfile, ErrProfileUnknown, ErrProfileExists, ErrRevisionConflict,
// ErrProfileIsDefault, ErrProfileRemoved, ErrSecretsUnreadable; scope admin.
func (c *Client) PutProfile(ctx context.Context, nameOrID string, p ProfileChange) (*Profile, error) {
	return ask[Profile](ctx, c, &call{
		op: "put profile", method: http.MethodPut, path: at("/v1/profiles", nameOrID), in: &p,
	})
}

// MakeDefaultProfile makes a profile the default, in place of the one that is.
// Errors: ErrProfileUnknown, ErrProfileRemoved, ErrRevisionConflict; scope admin.
func (c *Client) MakeDefaultProfile(ctx context.Context, nameOrID string) (*Profile, error) {
	return ask[Profile](ctx, c, profileState(http.MethodPost, "make profile the default", nameOrID, "/default"))
}

// PauseProfile keeps mail from leaving until ResumeProfile; what waits keeps
// waiting. The reason is for people, at most 255 bytes. Errors:
// ErrProfileUnknown, ErrProfileRemoved; scope admin.
func (c *Client) PauseProfile(ctx context.Context, nameOrID, reason string) (*Profile, error) {
	cl := profileState(http.MethodPost, "pause profile", nameOrID, "/pause")
	cl.in = struct {
		Reason string `json:"reason,omitempty"`
	}{reason}
	return ask[Profile](ctx, c, cl)
}

// ResumeProfile ends a pause, whoever made it. Errors: ErrProfileUnknown,
// ErrProfileRemoved; scope admin.
func (c *Client) ResumeProfile(ctx context.Context, nameOrID string) (*Profile, error) {
	return ask[Profile](ctx, c, profileState(http.MethodPost, "resume profile", nameOrID, "/resume"))
}

// RemoveProfile removes a profile: nothing leaves any more, and what waits is
// canceled step by step; Waiting says how far that is. Errors:
// ErrProfileUnknown, ErrProfileIsDefault; scope admin.
func (c *Client) RemoveProfile(ctx context.Context, nameOrID string) (*Profile, error) {
	return ask[Profile](ctx, c, profileState(http.MethodDelete, "remove profile", nameOrID, ""))
}

// profileState is a change that does no harm when it is made twice.
func profileState(method, op, nameOrID, what string) *call {
	return &call{op: op, method: method, path: at("/v1/profiles", nameOrID) + what, repeatable: true}
}

// TestProfile sends a real message through a profile in the name of an app that
// may use it, and answers when its outcome is known, or after 15 seconds. It is
// not repeated by itself when its answer is lost. Errors: ErrBadInput,
// ErrAppUnknown, ErrProfileUnknown, ErrProfileRemoved, ErrProfileNotAllowed,
// ErrQuotaExceeded; scope admin.
func (c *Client) TestProfile(ctx context.Context, nameOrID string, app postledger.ID, to string) (*ProfileTest, error) {
	in := struct {
		App postledger.ID `json:"app"`
		To  string        `json:"to"`
	}{app, to}
	return ask[ProfileTest](ctx, c, &call{
		op: "test profile", method: http.MethodPost, path: at("/v1/profiles", nameOrID) + "/test", in: in,
	})
}
