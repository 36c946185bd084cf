package deliver_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/deliver/health"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/transport/smtp"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// eachOnce fails unless every address has one copy at the hop.
func (r *rig) eachOnce(want int) {
	r.t.Helper()
	copies := r.copies()
	for to, n := range copies {
		if n != 1 {
			r.t.Errorf("%s has %d copies", to, n)
		}
	}
	if len(copies) != want {
		r.t.Errorf("%d addresses at the hop, want %d", len(copies), want)
	}
}

// B30: a hop that takes five messages a second and answers 454 to the rest
// gets them all in the end, at a rate that gives way; nothing fails.
func TestAThrottlingHopGetsAll(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		const messages = 30
		var mu sync.Mutex
		var taken []time.Time
		throttled := 0
		over := func() bool {
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			if n := len(taken); n >= 5 && now.Sub(taken[n-5]) < time.Second {
				throttled++
				return true
			}
			taken = append(taken, now)
			return false
		}
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepDot, When: over, Do: transporttest.Answer("454 4.7.0 slow down")},
		}}, nil)
		ids := r.batch(messages, "a", ledgertest.WithLane(postledger.LaneBulk))
		w := r.start()
		for _, d := range r.settled(ids...) {
			if d.Status != postledger.StatusSent || d.Attempts != 1 {
				t.Errorf("%s/%s, attempt %d", d.Status, d.Reason, d.Attempts)
			}
		}
		r.eachOnce(messages)
		if throttled == 0 {
			t.Error("the hop never throttled: the test has shown nothing")
		}
		if rate, _ := w.Rate(r.Profile.ID); rate == 0 {
			t.Error("the profile's rate did not give way")
		}
		t.Logf("%d answers 454 for %d messages", throttled, messages)
	})
}

// B32: a hop that ends each connection after its tenth message costs no
// attempt and no wait.
func TestAHopThatEndsConnections(t *testing.T) {
	const bye = "421 4.3.2 bye"
	t.Parallel()
	for name, rule := range map[string]transporttest.Rule{
		"at MAIL":      {At: transporttest.StepMail, Message: 11, Do: transporttest.Goodbye(bye)},
		"at the dot":   {At: transporttest.StepDot, Message: 11, Do: transporttest.Goodbye(bye)},
		"after a dot":  {At: transporttest.StepDot, Message: 10, Do: transporttest.Goodbye("250 2.0.0 ok\n" + bye)},
		"dropped idle": {At: transporttest.StepDot, Message: 10, Do: transporttest.Action{Close: true}},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, open ledgertest.Opener) {
				r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{rule}}, nil)
				ids := r.batch(100, "a")
				r.start()
				for _, d := range r.settled(ids...) {
					if d.Status != postledger.StatusSent || d.Attempts != 1 || d.Fence != 1 {
						t.Errorf("%s/%s, attempt %d, fence %d", d.Status, d.Reason, d.Attempts, d.Fence)
					}
				}
				r.eachOnce(100)
			})
		})
	}
}

// B34: a hop whose TLS cannot be verified gets nothing where TLS is required:
// the profile is down for a reason that says so, nothing is charged, and only a
// caller's deadline ends the wait.
func TestAHopWhoseTLSFails(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		ca := transporttest.NewAuthority(t)
		expired := ca.Server(transporttest.HopName, time.Now().Add(-time.Hour))
		r := newRig(t, open, transporttest.HopConfig{TLS: expired}, nil)
		r.smtp = func(c *smtp.Config) {
			c.TLS, c.ServerName, c.RootCAs = smtp.TLSRequired, transporttest.HopName, ca.Pool()
		}
		id := r.Send([]string{"a@x.example"})[0]
		late := r.Send([]string{"b@x.example"}, ledgertest.WithDeadline(time.Now().Add(2*time.Second)))[0]
		w := r.start()
		r.until("the profile is down", func() bool {
			h, ok := w.Health(r.Profile.ID)
			return ok && h.State == health.Down && h.Reason.Phase == postledger.PhaseStartTLS
		})
		if d := r.settled(late)[0]; d.Status != postledger.StatusFailed || d.Reason != postledger.ReasonExpired || d.Attempts != 0 {
			t.Errorf("past its deadline: %s/%s, attempt %d", d.Status, d.Reason, d.Attempts)
		}
		// The profile is down from the failure on, and the row is back when the
		// settle of that failure is written.
		r.until("the other is queued again", func() bool { return r.Row(id).Status == postledger.StatusQueued })
		if d := r.Row(id); d.Attempts != 0 {
			t.Errorf("without a deadline: %s/%s, attempt %d", d.Status, d.Reason, d.Attempts)
		}
		if n := len(r.hop.Accepted()); n != 0 {
			t.Errorf("%d sent", n)
		}
		// The operator decides that this hop may do without.
		r.smtp = func(c *smtp.Config) {
			c.TLS, c.ServerName, c.RootCAs = smtp.TLSOpportunistic, transporttest.HopName, ca.Pool()
		}
		p := r.Profile
		p.Config.FromName = "Desk"
		r.putProfile(p)
		if d := r.settled(id)[0]; d.Status != postledger.StatusSent || d.Attempts != 1 {
			t.Errorf("opportunistic: %s/%s", d.Status, d.Reason)
		}
		r.eachOnce(1)
	})
}

// B35: a relay that refuses our login for good pauses the profile, one that
// does so for now takes it down; nothing fails, and all leave once it is mended.
func TestAHopThatRefusesTheLogin(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		ca := transporttest.NewAuthority(t)
		tls := ca.Server(transporttest.HopName, time.Now().Add(time.Hour))
		var password atomic.Value
		password.Store("old")
		login := func(c *smtp.Config) {
			c.TLS, c.ServerName, c.RootCAs = smtp.TLSRequired, transporttest.HopName, ca.Pool()
			c.Username, c.Password = "desk", password.Load().(string)
		}
		t.Run("for good", func(t *testing.T) {
			r := newRig(t, open, transporttest.HopConfig{TLS: tls, Logins: map[string]string{"desk": "new"}}, nil)
			r.smtp = login
			ids := r.batch(20, "a")
			w := r.start()
			r.until("the profile is paused with an alarm", func() bool {
				p, err := r.ProfileByID(t.Context(), r.Profile.ID)
				h, _ := w.Health(r.Profile.ID)
				return err == nil && !p.PausedAt.IsZero() && p.Alarm != "" && h.State == health.Paused
			})
			if n := r.hop.Connections(); n > r.Profile.Config.Connections {
				t.Errorf("%d logins tried: each is a step towards a locked account", n)
			}
			for _, id := range ids {
				if d := r.Row(id); d.Status.Settled() || d.Attempts != 0 {
					t.Errorf("%s/%s, attempt %d", d.Status, d.Reason, d.Attempts)
				}
			}
			password.Store("new")
			p := r.Profile
			p.Config.FromName = "Desk"
			r.putProfile(p)
			must(t, r.ResumeProfile(t.Context(), r.Profile.ID, postledger.AuditEvent{ID: r.NewID(), Action: "profile.resume", Result: "done"}))
			for _, d := range r.settled(ids...) {
				if d.Status != postledger.StatusSent || d.Attempts != 1 {
					t.Errorf("%s/%s, attempt %d", d.Status, d.Reason, d.Attempts)
				}
			}
			r.eachOnce(20)
		})
		t.Run("for now", func(t *testing.T) {
			password.Store("new")
			r := newRig(t, open, transporttest.HopConfig{
				TLS: tls, Logins: map[string]string{"desk": "new"},
				Rules: []transporttest.Rule{{At: transporttest.StepAuth, Times: 4, Do: transporttest.Answer("454 4.7.0 temporary failure")}},
			}, nil)
			r.smtp = login
			ids := r.batch(20, "a")
			r.start()
			for _, d := range r.settled(ids...) {
				if d.Status != postledger.StatusSent || d.Attempts != 1 {
					t.Errorf("%s/%s, attempt %d", d.Status, d.Reason, d.Attempts)
				}
			}
			r.eachOnce(20)
			if p, err := r.ProfileByID(t.Context(), r.Profile.ID); err != nil || !p.PausedAt.IsZero() {
				t.Errorf("paused: %+v %v", p, err)
			}
		})
	})
}

// What this process cannot make a transport of does not look like a working
// profile: its mail waits, and leaves once the profile is mended.
func TestAConfigurationThatCannotBeUsed(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		r := newRig(t, open, transporttest.HopConfig{}, nil)
		var usable atomic.Bool
		r.smtp = func(c *smtp.Config) {
			if !usable.Load() {
				c.Host = ""
			}
		}
		ids := r.batch(3, "a")
		w := r.start()
		if h, ok := w.Health(r.Profile.ID); !ok || h.State != health.Paused || h.Alarm == "" ||
			h.Reason.Class != postledger.OutcomeMisconfigured {
			t.Errorf("health %+v %v", h, ok)
		}
		usable.Store(true)
		p := r.Profile
		p.Config.FromName = "Desk"
		r.putProfile(p)
		r.settled(ids...)
		r.eachOnce(3)
		if h, _ := w.Health(r.Profile.ID); h.State != health.Up {
			t.Errorf("health %+v", h)
		}
	})
}

// B36: an answer to the dot that comes late counts; one that does not come
// within the limit leaves doubt that nobody resolves by sending again.
func TestALateAnswerToTheDot(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		held := make(chan struct{})
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepDot, Times: 1, Do: transporttest.Action{Keep: true, Hold: held}},
		}}, nil)
		r.smtp = func(c *smtp.Config) { c.Timeouts.Dot = 200 * time.Millisecond }
		doubt := r.Send([]string{"a@x.example"})[0]
		r.start()
		d := r.settled(doubt)[0]
		if d.Status != postledger.StatusUnconfirmed || d.Reason != postledger.ReasonNoAnswer {
			t.Errorf("%s/%s", d.Status, d.Reason)
		}
		close(held) // on a connection that is gone
		next := r.Send([]string{"b@x.example"})[0]
		if d := r.settled(next)[0]; d.Status != postledger.StatusSent {
			t.Errorf("the next: %s/%s", d.Status, d.Reason)
		}
		if again := r.Row(doubt); again.Fence != 1 || again.Status != postledger.StatusUnconfirmed {
			t.Errorf("%+v", again)
		}
		r.eachOnce(2)
		r.hop.TakeFaults()
	})
}

// Connections that are idle for too long are closed by the worker.
func TestIdleConnectionsArePruned(t *testing.T) {
	onBoth(t, func(t *testing.T, open ledgertest.Opener) {
		var quits atomic.Int64
		r := newRig(t, open, transporttest.HopConfig{Rules: []transporttest.Rule{
			{At: transporttest.StepQuit, Do: transporttest.Action{Hook: func() { quits.Add(1) }}},
		}}, nil)
		r.smtp = func(c *smtp.Config) { c.MaxIdle = 50 * time.Millisecond }
		r.tune = func(c *deliver.Config) { c.Prune = 20 * time.Millisecond }
		r.start()
		r.settled(r.Send([]string{"a@x.example"})...)
		r.until("the idle connection is closed", func() bool { return quits.Load() == 1 })
	})
}
