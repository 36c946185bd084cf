package api_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/api"
	"github.com/postledger/postledger/internal/ledger"
)

// refusing is a step that answers with an error.
type refusing struct {
	api.Acceptor
	err error
}

func (r *refusing) Accept(context.Context, accept.Caller, *accept.Request) (accept.Receipt, error) {
	return accept.Receipt{}, r.err
}

// Every refusal of the step becomes a document with what its kind carries.
func TestRefusalsOfTheStep(t *testing.T) {
	step := &refusing{}
	w := sqlite(t, func(c *api.Config) { step.Acceptor, c.Acceptor = c.Acceptor, step })
	id := w.ledger.NewID()
	resets := time.Now().Add(90 * time.Second).UTC().Truncate(time.Second)
	for name, test := range map[string]struct {
		err     error
		code    string
		members map[string]any
		retry   bool
	}{
		"fate unknown": {
			&accept.UnavailableError{MessageID: id, FateUnknown: true, Err: errors.New("db.internal: reset")}, "mail_unavailable",
			map[string]any{"fate": "unknown", "message_id": id.String()},
			true,
		},
		"unavailable": {&accept.UnavailableError{Err: errors.New("db.internal: reset")}, "mail_unavailable", map[string]any{"fate": nil}, true},
		"quota": {
			&accept.QuotaError{QuotaError: ledger.QuotaError{Limit: 5, Used: 4, Requested: 2, ResetsAt: resets}}, "quota_exceeded",
			map[string]any{"limit": 5.0, "used": 4.0, "requested": 2.0, "resets_at": resets.Format(time.RFC3339)},
			true,
		},
		"quota, never": {&accept.QuotaError{QuotaError: ledger.QuotaError{Limit: 5, Requested: 6}}, "quota_exceeded", map[string]any{"resets_at": nil}, false},
		"rate":         {&accept.RateError{PerMinute: 5, RetryAfter: time.Millisecond}, "rate_exceeded", nil, true},
		"too large":    {&accept.TooLargeError{Field: "attachments[0]", Limit: 7}, "attachments_too_large", map[string]any{"limit": 7.0}, false},
		"backlog":      {&accept.BacklogError{Waiting: 9, Limit: 8}, "backlog_full", map[string]any{"limit": 8.0, "used": 9.0}, false},
		"gone":         {accept.ErrMessageGone, "message_gone", nil, false},
		"lost":         {accept.ErrAttachmentLost, "attachment_lost", nil, false},
		"full":         {accept.ErrStorageFull, "attachment_storage_full", nil, false},
		"mismatch":     {&accept.MismatchError{Other: -1}, "idempotency_mismatch", nil, false},
		"busy":         {accept.ErrTooManyWaiters, "overloaded", nil, true},
		"revoked":      {accept.ErrUnauthorized, "unauthorized", nil, false},
		"more":         {&accept.InvalidError{Problems: []accept.Problem{{Field: "to", Rule: "required", Message: "x"}}, More: 3}, "bad_input", map[string]any{"more": 3.0}, false},
		"none of ours": {errors.New("db.internal: reset"), "mail_unavailable", nil, true},
	} {
		w.run(name, func(t *testing.T) {
			step.err = test.err
			a := w.call("POST", "/v1/messages", w.send, letter()).refused(test.code)
			for member, want := range test.members {
				if got := a.at(member); got != want {
					t.Errorf("%s is %v, want %v", member, got, want)
				}
			}
			if got := a.header.Get("Retry-After") != ""; got != test.retry {
				t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
			}
			if a.header.Get("Retry-After") == "0" || bytes.Contains(a.body, []byte("db.internal")) {
				t.Errorf("answer %v %s", a.header, a.body)
			}
		})
	}
}

// A profile whose secrets were sealed with a key that is gone cannot be kept as
// it is; with new ones it can.
func TestSecretsThatDoNotOpen(t *testing.T) {
	w := sqlite(t)
	a := w.call("PUT", "/v1/profiles/relay", w.admin, relay(0)).want(http.StatusOK)
	id, err := postledger.ParseID(a.text("id"))
	must(t, err)
	p, err := w.ledger.ProfileByID(t.Context(), id)
	must(t, err)
	for i := range p.Secrets {
		if p.Secrets[i] == ':' { // the box is base64 in JSON: change a letter behind the name into another
			other := byte('A')
			if p.Secrets[i+10] == other {
				other = 'B'
			}
			p.Secrets[i+10] = other
			break
		}
	}
	_, err = w.ledger.PutProfile(t.Context(), p, 1, w.did("profile.put"))
	must(t, err)
	next := relay(2)
	delete(next, "password")
	w.call("PUT", "/v1/profiles/relay", w.admin, next).refused("secrets_unreadable")
	w.call("PUT", "/v1/profiles/relay", w.admin, relay(2)).want(http.StatusOK)
}
