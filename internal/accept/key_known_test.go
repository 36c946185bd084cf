package accept_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
)

// refusal is a way to refuse a request that has a new key.
type refusal struct {
	name string
	want accept.Code
	// with changes the service that is asked; after changes the world, once
	// some keys are known; caller is who asks, if not the one who did before.
	with   func(w *world, c *accept.Config)
	after  func(t *testing.T, w *world, s *accept.Service)
	caller func(w *world) accept.Caller
	// looks is how often the ledger is asked beside the transaction, by a
	// request without files: for a known key, and for a new one.
	looks [2]int64
}

// soon is when the deadline of one of the refusals has passed.
const soon = 300 * time.Millisecond

func refusals() []refusal {
	once := [2]int64{1, 1}
	return []refusal{
		{name: "nothing"},
		{
			name: "quota", want: accept.CodeQuota,
			after: func(_ *testing.T, w *world, _ *accept.Service) {
				w.reconfigure(func(c *postledger.ProfileConfig) { c.QuotaPerDay = new(int64) })
			},
		},
		{
			name: "revoked API key", want: accept.CodeUnauthorized,
			caller: func(w *world) accept.Caller { return accept.Caller{App: w.caller.App, APIKey: w.ledger.NewID()} },
		},
		{
			name: "removed profile", want: accept.CodeRemoved, looks: once,
			after: func(t *testing.T, w *world, _ *accept.Service) {
				must(t, w.ledger.RemoveProfile(t.Context(), w.profile.ID, w.did("profile.remove")))
			},
		},
		{
			// The service has the policy at hand, and the transaction knows better.
			name: "removed profile, not noticed yet", want: accept.CodeRemoved,
			after: func(t *testing.T, w *world, s *accept.Service) {
				_, err := s.Accept(t.Context(), w.caller, w.keyed("warm"))
				must(t, err)
				must(t, w.ledger.RemoveProfile(t.Context(), w.profile.ID, w.did("profile.remove")))
			},
		},
		{
			name: "revoked grant", want: accept.CodeNotAllowed, looks: once,
			after: func(t *testing.T, w *world, _ *accept.Service) {
				must(t, w.ledger.RevokeGrant(t.Context(), w.caller.App, w.profile.ID, w.did("grant.revoke")))
			},
		},
		{
			name: "removed app", want: accept.CodeUnauthorized, looks: once,
			after: func(t *testing.T, w *world, _ *accept.Service) {
				must(t, w.ledger.RemoveApp(t.Context(), w.caller.App, w.did("app.remove")))
			},
		},
		{
			name: "deadline", want: accept.CodeBadInput, looks: once,
			after: func(*testing.T, *world, *accept.Service) { <-time.After(soon) },
		},
		{
			// What is trusted before is filtered now, and nothing is left of it.
			name: "filter", want: accept.CodeBadInput, looks: once,
			after: func(_ *testing.T, w *world, _ *accept.Service) {
				w.grant(postledger.Grant{AppID: w.caller.App, ProfileID: w.profile.ID})
			},
		},
		{
			name: "rate", want: accept.CodeRate, looks: once,
			after: func(t *testing.T, w *world, s *accept.Service) {
				w.reconfigure(func(c *postledger.ProfileConfig) { c.ImmediatePerMinute = 1 })
				_, err := s.Accept(t.Context(), w.caller, w.keyed("the minute's"))
				must(t, err)
			},
		},
		{
			name: "overload", want: accept.CodeOverloaded, looks: once,
			with: func(_ *world, c *accept.Config) { c.MaxWaiting, c.Backlog = 1, full{} },
		},
		{
			name: "unreachable", want: accept.CodeUnavailable, looks: once,
			with: func(w *world, c *accept.Config) { c.Ledger = failing(w, errors.New("connection refused")) },
		},
		{
			// A request with a known key shares a COMMIT that got no answer;
			// what its key stands for was certain before.
			name: "unknown fate", want: accept.CodeUnavailable, looks: once,
			with: func(w *world, c *accept.Config) { c.Ledger = failing(w, ledger.ErrFateUnknown) },
		},
		{
			name: "written by others", want: accept.CodeInProgress,
			with: func(w *world, c *accept.Config) { c.Ledger = &asked{Ledger: busyKeys{w.ledger}} },
		},
	}
}

// full is a backlog over any bound.
type full struct{}

func (full) Waiting(_ context.Context, _ postledger.ID, upTo int64) (int64, error) { return upTo, nil }
func (full) Added(postledger.ID, int64)                                            {}

// failing answers every accept with an error, without asking the ledger.
func failing(w *world, err error) *asked {
	return &asked{Ledger: &flaky{Ledger: w.ledger, fail: func(int64) error { return fmt.Errorf("commit: %w", err) }}}
}

// busyKeys answers for new keys as if other processes wrote them again and
// again.
type busyKeys struct{ *ledger.Ledger }

func (b busyKeys) Accept(ctx context.Context, r *ledger.AcceptRequest) (ledger.Accepted, error) {
	known, err := b.LookupKeys(ctx, r.AppID, []string{r.Messages[0].Key}, []string{r.Messages[0].Fingerprint})
	if err == nil && len(known) == 0 {
		return ledger.Accepted{}, fmt.Errorf("accept: %w", ledger.ErrKeyBusy)
	}
	return b.Ledger.Accept(ctx, r)
}

// tenant is one more app on a profile of its own, which it has a grant for.
func (w *world) tenant(name string) *world {
	w.t.Helper()
	out := &world{t: w.t, url: w.url, ledger: w.ledger, blobs: w.blobs, caps: w.caps}
	out.Service = out.service(w.ledger)
	out.caller = accept.Caller{App: w.app(name), RequestID: "r-1"}
	out.profile = w.put(postledger.Profile{Name: name, Config: config()})
	out.grant(postledger.Grant{AppID: out.caller.App, ProfileID: out.profile.ID, TrustedHTML: true})
	return out
}

// keyed is a request on the tenant's own profile.
func (w *world) keyed(key string) *accept.Request {
	r := keyed(key)
	r.Profile = w.profile.Name
	return r
}

// purge removes the records of a message that is settled.
func (w *world) purge(message postledger.ID) {
	w.t.Helper()
	now, err := w.ledger.Now(w.t.Context())
	must(w.t, err)
	_, err = w.ledger.PurgeRecords(w.t.Context(), now, postledger.ID{}, 1000)
	must(w.t, err)
	ds, err := w.ledger.DeliveriesOf(w.t.Context(), message)
	must(w.t, err)
	equal(w.t, "deliveries of a purged message", len(ds), 0)
}

// Invariant 1: what a known key answers does not depend on what would become
// of the request without it. Each way to refuse one meets a key of a message,
// that key with another body, a key whose message is purged, and a new key;
// without and with a file, which a known key leaves unread.
func TestAKnownKeyAnswersWhateverElseIsWrong(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		for i, tt := range refusals() {
			for j, attached := range []bool{false, true} {
				if attached && tt.name == "filter" {
					continue // the file is left of it
				}
				t.Run(tt.name+map[bool]string{true: ", with a file"}[attached], func(t *testing.T) {
					own := w.tenant(fmt.Sprintf("tenant-%d-%d", i, j))
					own.t = t
					knownKeyAnswers(t, own, &tt, attached)
				})
			}
		}
	})
}

func knownKeyAnswers(t *testing.T, w *world, tt *refusal, attached bool) {
	deadline := time.Now().Add(24 * time.Hour)
	if tt.name == "deadline" {
		deadline = time.Now().Add(soon)
	}
	ask := func(key, subject string) *accept.Request {
		r := w.keyed(key)
		r.Deadline.At, r.Subject = deadline, subject
		if tt.name == "filter" {
			r.HTML = "<script>x()</script>"
			r.Text = ""
		}
		if attached {
			r.Attachments = []accept.Attachment{stream((&streams{t: t}).next("abc"))}
		}
		return r
	}
	unread := func(key, subject string) *accept.Request {
		r := ask(key, subject)
		for i := range r.Attachments {
			r.Attachments[i].Open = func() (io.ReadCloser, error) {
				t.Error("read although the key is known")
				return nil, io.ErrUnexpectedEOF
			}
		}
		return r
	}
	known, _, _ := w.accepted(ask("known", "Week 12"))
	gone, _, ds := w.accepted(ask("gone", "Week 12"))
	w.settle(gone.MessageID, map[postledger.ID]postledger.Status{ds[0].ID: postledger.StatusSent})
	w.purge(gone.MessageID)

	ledgerOf := &asked{Ledger: w.ledger}
	s := w.service(ledgerOf, func(c *accept.Config) {
		if tt.with != nil {
			tt.with(w, c)
			if a, ok := c.Ledger.(*asked); ok {
				ledgerOf = a
			}
		}
	})
	if tt.after != nil {
		tt.after(t, w, s)
	}
	caller := w.caller
	if tt.caller != nil {
		caller = tt.caller(w)
	}
	ledgerOf.looks.Store(0)
	looks := func(what string, want int64) {
		t.Helper()
		if attached {
			want = 1 // before the files are read
		}
		equal(t, what+": look-ups", ledgerOf.looks.Swap(0), want)
	}
	rows, blobs := fmt.Sprint(w.rows()), len(w.blobKeys())
	unchanged := func() {
		t.Helper()
		equal(t, "rows", fmt.Sprint(w.rows()), rows)
		equal(t, "blobs", len(w.blobKeys()), blobs)
	}

	rec, err := s.Accept(t.Context(), caller, unread("known", "Week 12"))
	must(t, err)
	equal(t, "message", rec.MessageID, known.MessageID)
	equal(t, "replayed", rec.Replayed, true)
	equal(t, "removed", len(rec.Removed), 0)
	looks("known", tt.looks[0])
	for _, other := range []struct {
		key, subject string
		want         accept.Code
	}{
		{"known", "Week 13", accept.CodeMismatch},
		{"gone", "Week 12", accept.CodeGone},
		{"gone", "Week 13", accept.CodeMismatch},
	} {
		_, err = s.Accept(t.Context(), caller, unread(other.key, other.subject))
		refused(t, err, other.want)
		looks(other.key+", "+other.subject, tt.looks[0])
	}
	unchanged()

	rec, err = s.Accept(t.Context(), caller, ask("new", "Week 12"))
	looks("new", tt.looks[1])
	var down *accept.UnavailableError
	var busy *accept.BusyError
	switch {
	case tt.want == "":
		must(t, err)
		equal(t, "replayed", rec.Replayed, false)
		return
	case errors.As(err, &down) && down.FateUnknown:
		blobs = len(w.blobKeys()) // what is stored stays
	case errors.As(err, &busy) && busy.Code() == accept.CodeInProgress:
		equal(t, "retry after", busy.RetryAfter, time.Second)
	}
	refused(t, err, tt.want)
	unchanged()
}
