package accept_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
)

func TestAcceptWritesWhatWasAsked(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		deadline := time.Now().Add(time.Hour).Truncate(time.Microsecond)
		rec, m, ds := w.accepted(&accept.Request{
			To:       []accept.Recipient{{Address: "Mira.Holt@BÜCHER.test", Name: "Mira"}},
			Cc:       []accept.Recipient{{Address: "desk@rcv.test"}},
			Bcc:      []accept.Recipient{{Address: "audit@rcv.test"}},
			Subject:  "Week 12",
			Text:     "Hello.",
			HTML:     `<p onclick="x()">Hello.</p><script>x()</script>`,
			Headers:  header("X-Ref", "7"),
			FromName: "The desk",
			ReplyTo:  []postledger.Mailbox{{Name: "Desk", Address: "desk@send.test"}},
			Category: postledger.CategoryActivity,
			Ref:      accept.Ref{Scope: "order", ID: "4711"},
			Tenant:   "north", Locale: "de",
			Actor:     postledger.Actor{Type: "user", ID: "u-7", Name: "Ida"},
			Deadline:  accept.Deadline{At: deadline},
			MessageID: "<week-12@send.test>",
			Key:       "k-1",
		})
		equal(t, "profile", m.ProfileID, w.profile.ID)
		equal(t, "lane", m.Lane, postledger.LaneImmediate)
		equal(t, "category", m.Category, postledger.CategoryActivity)
		equal(t, "ref", m.RefScope+"/"+m.RefID, "order/4711")
		equal(t, "tenant and locale", m.Tenant+"/"+m.Locale, "north/de")
		equal(t, "actor", m.Actor, postledger.Actor{Type: "user", ID: "u-7", Name: "Ida"})
		equal(t, "request", m.RequestID, "r-1")
		equal(t, "message id", m.HeaderMessageID, "<week-12@send.test>")
		equal(t, "deadline", m.ExpiresAt.Equal(deadline), true)
		equal(t, "from name", m.Content.FromName, "The desk")
		equal(t, "recipients", m.Recipients, 3)
		sameList(t, "headers", m.Content.Headers, header("X-Ref", "7"))
		if strings.Contains(m.Content.HTML, "script") || strings.Contains(m.Content.HTML, "onclick") || !strings.Contains(m.Content.HTML, "Hello.") {
			t.Errorf("html: %s", m.Content.HTML)
		}
		if len(rec.Removed) == 0 {
			t.Error("the receipt does not say what was removed")
		}
		var got []string
		for i, d := range ds {
			got = append(got, string(d.Kind)+" "+d.Address+" "+d.AddressFolded)
			equal(t, "position", d.Position, i)
			equal(t, "status", d.Status, postledger.StatusQueued)
			equal(t, "envelope", d.EnvelopeID, ds[0].EnvelopeID)
			equal(t, "expiry", d.ExpiresAt.Equal(deadline), true)
			if i > 0 && string(ds[i-1].ID[:]) >= string(d.ID[:]) {
				t.Error("ids are not in the order of the recipients")
			}
		}
		sameList(t, "deliveries", got, []string{
			"to Mira.Holt@BÜCHER.test mira.holt@xn--bcher-kva.test",
			"cc desk@rcv.test desk@rcv.test",
			"bcc audit@rcv.test audit@rcv.test",
		})
		sameList(t, "woken", w.woke, []ledger.ClaimKey{{Profile: w.profile.ID, Lane: postledger.LaneImmediate, App: w.caller.App}})
	})
}

func TestEnvelopes(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		for _, tt := range []struct {
			name      string
			one       bool
			max, n    int
			envelopes int
		}{
			{"one recipient", false, 0, 1, 1},
			{"fifty in one", false, 0, 50, 1},
			{"the hop takes twenty", false, 20, 50, 3},
			{"a last one alone", false, 20, 41, 3},
			{"the hop takes one", true, 0, 3, 3},
		} {
			w.caps.OneRecipientPerEnvelope, w.caps.MaxRecipients = tt.one, tt.max
			r := good()
			r.To = crowd(tt.n)
			_, _, ds := w.accepted(r)
			members := map[postledger.ID]int{}
			for _, d := range ds {
				members[d.EnvelopeID]++
			}
			equal(t, tt.name, len(members), tt.envelopes)
			for _, d := range ds {
				if own := members[d.ID] > 0; own != (members[d.EnvelopeID] == 1) {
					t.Errorf("%s: an envelope of %d; the delivery's id is an envelope's: %v", tt.name, members[d.EnvelopeID], own)
				}
			}
		}
	})
}

func TestTimes(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		now := time.Now()
		for name, tt := range map[string]struct {
			set  func(*accept.Request)
			want string
		}{
			"too far ahead":           {func(r *accept.Request) { r.SendAt = now.AddDate(1, 1, 0) }, "send_at range"},
			"deadline has passed":     {func(r *accept.Request) { r.Deadline.At = now.Add(-time.Second) }, "deadline range"},
			"deadline before send_at": {func(r *accept.Request) { r.SendAt, r.Deadline.At = now.Add(time.Hour), now.Add(time.Minute) }, "deadline range"},
			"deadline too far":        {func(r *accept.Request) { r.Deadline.At = now.AddDate(2, 0, 0) }, "deadline range"},
		} {
			r := good()
			tt.set(r)
			_, err := w.Accept(t.Context(), w.caller, r)
			sameList(t, name, broken(t, err), []string{tt.want})
		}
		r := good()
		r.SendAt, r.Deadline.After = now.Add(time.Hour).Truncate(time.Second), time.Minute
		_, m, ds := w.accepted(r)
		equal(t, "due", ds[0].DueAt.Equal(r.SendAt), true)
		equal(t, "send_at", m.SendAt.Equal(r.SendAt), true)
		equal(t, "span after send_at", ds[0].ExpiresAt.Equal(r.SendAt.Add(time.Minute)), true)
		equal(t, "woken for later", len(w.woke), 0)

		r = good()
		r.SendAt, r.Deadline.After = now.Add(-time.Hour), time.Minute
		_, m, ds = w.accepted(r)
		equal(t, "a moment that passed is now", m.SendAt.IsZero() && !ds[0].DueAt.Before(now.Add(-time.Minute)), true)
		equal(t, "span after now", ds[0].ExpiresAt.After(now), true)
		equal(t, "woken", len(w.woke), 1)
	})
}

func TestProfilesAndGrants(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		send := func(profile string) error {
			r := good()
			r.Profile = profile
			_, err := w.Accept(t.Context(), w.caller, r)
			return err
		}
		other := w.put(postledger.Profile{Name: "other", Config: config()})
		must(t, send("main"))
		refused(t, send("nope"), accept.CodeProfile)
		refused(t, send("other"), accept.CodeNotAllowed)
		w.grant(postledger.Grant{AppID: w.caller.App, ProfileID: other.ID, TrustedHTML: true})
		must(t, send("other"))
		// The default one was read a moment ago, and the grant took it away.
		refused(t, send("main"), accept.CodeNotAllowed)
		refused(t, send(""), accept.CodeNoProfile)

		r := good()
		r.Profile, r.HTML = "other", `<p onclick="x()">Hello.</p>`
		_, m, _ := w.accepted(r)
		equal(t, "trusted html", m.Content.HTML, r.HTML)
		// Trust withdrawn right after it was read: the transaction notices, and
		// the request is filtered and accepted.
		w.grant(postledger.Grant{AppID: w.caller.App, ProfileID: other.ID})
		_, m, _ = w.accepted(r)
		equal(t, "filtered html", m.Content.HTML, "<p>Hello.</p>")

		must(t, w.ledger.RemoveProfile(t.Context(), other.ID, w.did("profile.remove")))
		if code := accept.CodeOf(send("other")); code != accept.CodeRemoved && code != accept.CodeProfile {
			t.Errorf("removed profile: %q", code)
		}
		refused(t, func() error {
			_, err := w.Accept(t.Context(), accept.Caller{App: w.ledger.NewID()}, good())
			return err
		}(), accept.CodeUnauthorized)
	})
}

func TestAProfileChangeIsNoticed(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		w.accepted(good()) // the policy is in memory now
		w.reconfigure(func(c *postledger.ProfileConfig) { c.QuotaPerDay = new(int64) })
		_, err := w.Accept(t.Context(), w.caller, good())
		refused(t, err, accept.CodeQuota)
		w.reconfigure(func(c *postledger.ProfileConfig) { c.QuotaPerDay = nil; c.MaxAttachmentBytes = 2 })
		r := good()
		r.Attachments = file(nil)
		_, err = w.Accept(t.Context(), w.caller, r)
		refused(t, err, accept.CodeTooLarge)
		sameList(t, "blobs", w.blobKeys(), nil)
	})
}

func TestHTMLOfNothingButScriptIsRefused(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		r := good()
		r.Text, r.HTML = "", "<script>x()</script>"
		_, err := w.Accept(t.Context(), w.caller, r)
		sameList(t, "problems", broken(t, err), []string{"html required"})
	})
}

func TestImmediateRate(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		now := time.Now()
		s := w.service(w.ledger, func(c *accept.Config) { c.Now = func() time.Time { return now } })
		w.reconfigure(func(c *postledger.ProfileConfig) { c.ImmediatePerMinute = 6 })
		send := func(change func(*accept.Request)) error {
			r := good()
			change(r)
			_, err := s.Accept(t.Context(), w.caller, r)
			return err
		}
		for range 5 {
			must(t, send(func(*accept.Request) {}))
		}
		must(t, send(func(r *accept.Request) { r.Key = "k" }))
		err := send(func(*accept.Request) {})
		refused(t, err, accept.CodeRate)
		e, ok := err.(*accept.RateError)
		if !ok || e.RetryAfter <= 0 || e.RetryAfter > 10*time.Second || e.PerMinute != 6 {
			t.Errorf("got %+v", err)
		}
		must(t, send(func(r *accept.Request) { r.Key = "k" }))                  // a replay
		must(t, send(func(r *accept.Request) { r.Lane = postledger.LaneBulk })) // another lane
		now = now.Add(10 * time.Second)
		must(t, send(func(*accept.Request) {}))
		refused(t, send(func(*accept.Request) {}), accept.CodeRate)
	})
}

func TestAuditNamesNoAddress(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		r := good()
		r.Actor = postledger.Actor{Type: "user", ID: "ida@send.test"}
		rec, _, _ := w.accepted(r)
		r.Subject = "secret\nsubject"
		_, err := w.Accept(t.Context(), w.caller, r)
		must(t, w.Deny(t.Context(), w.caller, "message.accept", r.Actor, err))
		got := w.audits()
		if len(got) != 2 {
			t.Fatalf("got %+v", got)
		}
		equal(t, "target", got[0].TargetID, rec.MessageID.String())
		equal(t, "result", got[0].Result, "done")
		equal(t, "actor", got[0].ActorType+"/"+got[0].ActorID, "user/")
		equal(t, "detail", got[0].Detail, "profile="+w.profile.ID.String()+" lane=immediate recipients=1")
		equal(t, "denial", got[1].Result, "bad_input")
		equal(t, "denial's detail", got[1].Detail, "subject control problems=1")
		for _, e := range got {
			if s := e.ActorID + e.Detail + e.TargetID; strings.Contains(s, "@") || strings.Contains(s, "secret") || strings.Contains(s, "Week") {
				t.Errorf("the trail holds what it must not: %+v", e)
			}
		}
	})
}
