package health_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/health"
)

var (
	start = time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)

	accepted      = postledger.Outcome{Class: postledger.OutcomeAccepted, Phase: postledger.PhaseDot, Code: 250}
	ready         = postledger.Outcome{Class: postledger.OutcomeAccepted, Phase: postledger.PhaseHello}
	unavailable   = postledger.Outcome{Class: postledger.OutcomeUnavailable, Phase: postledger.PhaseConnect, Text: "connection refused"}
	misconfigured = postledger.Outcome{Class: postledger.OutcomeMisconfigured, Phase: postledger.PhaseAuth, Code: 535, Enhanced: postledger.EnhancedCode{5, 7, 8}, Text: "bad login for mira@example.org"}
)

func after(d time.Duration) time.Time { return start.Add(d) }

func wantState(t *testing.T, h *health.Health, want health.State) {
	t.Helper()
	if h.State() != want {
		t.Fatalf("state %v, want %v", h.State(), want)
	}
}

// down is a profile that went down at start.
func down(t *testing.T) *health.Health {
	t.Helper()
	h := health.New(start)
	if !h.Observe(start, h.Start(), unavailable) {
		t.Fatal("an unavailable hop changed nothing")
	}
	wantState(t, h, health.Down)
	return h
}

func TestWhichOutcomesChangeTheState(t *testing.T) {
	for name, c := range map[string]struct {
		outcome postledger.Outcome
		want    health.State
	}{
		"returned":      {postledger.Outcome{Class: postledger.OutcomeReturned}, health.Up},
		"accepted":      {accepted, health.Up},
		"refused":       {postledger.Outcome{Class: postledger.OutcomeRefused, Phase: postledger.PhaseRcpt, Code: 550}, health.Up},
		"deferred":      {postledger.Outcome{Class: postledger.OutcomeDeferred, Phase: postledger.PhaseRcpt, Code: 450}, health.Up},
		"throttled":     {postledger.Outcome{Class: postledger.OutcomeThrottled, Phase: postledger.PhaseDot, Code: 454}, health.Up},
		"unavailable":   {unavailable, health.Down},
		"misconfigured": {misconfigured, health.Paused},
		"unknown":       {postledger.Outcome{Class: postledger.OutcomeUnknown, Phase: postledger.PhaseDot}, health.Up},
	} {
		h := health.New(start)
		changed := h.Observe(after(time.Second), h.Start(), c.outcome)
		if h.State() != c.want || changed != (c.want != health.Up) {
			t.Errorf("%s: %v, changed %v; want %v", name, h.State(), changed, c.want)
		}
	}
}

func TestOneFailureBesideSuccessesDoesNotFlap(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile postledger.Outcome
		want      health.State
	}{
		"a success since":         {accepted, health.Up},
		"a refusal since":         {postledger.Outcome{Class: postledger.OutcomeRefused, Phase: postledger.PhaseMail, Code: 550}, health.Up},
		"a local refusal since":   {postledger.Outcome{Class: postledger.OutcomeRefused}, health.Down},
		"an unknown since":        {postledger.Outcome{Class: postledger.OutcomeUnknown, Phase: postledger.PhaseDot}, health.Down},
		"a return since":          {postledger.Outcome{Class: postledger.OutcomeReturned}, health.Down},
		"a lost connection since": {postledger.Outcome{Class: postledger.OutcomeDeferred, Phase: postledger.PhaseData}, health.Down},
	} {
		h := health.New(start)
		failing, other := h.Start(), h.Start()
		h.Observe(after(time.Second), other, c.meanwhile)
		h.Observe(after(2*time.Second), failing, unavailable)
		if h.State() != c.want {
			t.Errorf("%s: %v, want %v", name, h.State(), c.want)
		}
	}

	// A success before the attempt started does not save it.
	h := health.New(start)
	h.Observe(start, h.Start(), accepted)
	h.Observe(after(time.Second), h.Start(), unavailable)
	wantState(t, h, health.Down)
}

func TestRefusedCredentialsPauseBesideSuccesses(t *testing.T) {
	h := health.New(start)
	fresh, old := h.Start(), h.Start()
	h.Observe(after(time.Second), old, accepted) // logged in before the password changed
	h.Observe(after(2*time.Second), fresh, misconfigured)
	wantState(t, h, health.Paused)
	for at := time.Second; at < time.Hour; at *= 2 {
		if h.StartProbe(after(at)) {
			t.Fatalf("probed with refused credentials after %v", at)
		}
	}
	if h.Observe(after(time.Hour), h.Start(), unavailable) || h.Observe(after(time.Hour), h.Start(), accepted) {
		t.Error("an outcome ended the pause")
	}
	s := h.Snapshot()
	if s.State != health.Paused || !s.Since.Equal(after(2*time.Second)) || !strings.Contains(s.Alarm, "credentials (misconfigured at auth 535 5.7.8)") || strings.Contains(s.Alarm, "@") {
		t.Errorf("snapshot %+v", s)
	}
	if !h.Resume(after(2*time.Hour)) || h.Resume(after(2*time.Hour)) {
		t.Error("Resume reports a change other than the first time")
	}
	wantState(t, h, health.Up)
	if s := h.Snapshot(); s.Alarm != "" || s.Reason != (postledger.Outcome{}) {
		t.Errorf("the alarm stays: %+v", s)
	}
}

// What was found without an answer is told, and what the hop said is not: that may
// hold an address.
func TestWhyAProfileIsDown(t *testing.T) {
	h := health.New(start)
	if why := h.Snapshot().Why(); why != "" {
		t.Errorf("a profile that is up says %q", why)
	}
	fault := postledger.Outcome{Class: postledger.OutcomeUnavailable, Phase: postledger.PhaseStartTLS, Text: "TLS handshake failed: x509: certificate has expired"}
	h.Observe(after(time.Second), h.Start(), fault)
	if why := h.Snapshot().Why(); why != "unavailable at starttls: TLS handshake failed: x509: certificate has expired" {
		t.Errorf("a certificate's fault is told as %q", why)
	}
	h.StartProbe(after(time.Minute))
	said := postledger.Outcome{Class: postledger.OutcomeUnavailable, Phase: postledger.PhaseGreeting, Code: 421, Text: "mira@rcpt.example is busy"}
	h.Probed(after(2*time.Minute), said)
	if why := h.Snapshot().Why(); why != "unavailable at greeting 421" {
		t.Errorf("a reply is told as %q", why)
	}
}

func TestProbesDoubleToAMinute(t *testing.T) {
	h := down(t)
	due := start
	for i, gap := range []time.Duration{5, 10, 20, 40, 60, 60, 60} {
		due = due.Add(gap * time.Second)
		if s := h.Snapshot(); !s.NextProbe.Equal(due) || s.FailedProbes != i {
			t.Fatalf("probe %d: next %v with %d failed, want %v", i, s.NextProbe, s.FailedProbes, due)
		}
		if h.StartProbe(due.Add(-1)) {
			t.Fatalf("probe %d is too early", i)
		}
		if !h.StartProbe(due) || h.StartProbe(due) {
			t.Fatalf("probe %d: not exactly one", i)
		}
		if h.Probed(due, unavailable) {
			t.Fatalf("a failed probe changed the state to %v", h.State())
		}
	}
	h.StartProbe(due.Add(time.Minute))
	if !h.Probed(due.Add(time.Minute), ready) {
		t.Error("a successful probe changed nothing")
	}
	wantState(t, h, health.Up)
	if s := h.Snapshot(); !s.NextProbe.IsZero() || s.Probing || s.FailedProbes != 0 {
		t.Errorf("snapshot %+v", s)
	}
}

func TestWhatAProbeMaySay(t *testing.T) {
	for name, c := range map[string]struct {
		outcome  postledger.Outcome
		want     health.State
		interval time.Duration // to the next probe
	}{
		"ready":         {ready, health.Up, 0},
		"unavailable":   {unavailable, health.Down, 10 * time.Second},
		"throttled":     {postledger.Outcome{Class: postledger.OutcomeThrottled, Code: 421}, health.Down, 10 * time.Second},
		"misconfigured": {misconfigured, health.Paused, 0},
		"given up":      {postledger.Outcome{Class: postledger.OutcomeReturned}, health.Down, 5 * time.Second},
	} {
		h := down(t)
		at := after(health.ProbeFirst)
		h.StartProbe(at)
		changed := h.Probed(at, c.outcome)
		next := h.Snapshot().NextProbe
		if h.State() != c.want || changed != (c.want != health.Down) || c.interval != 0 && !next.Equal(at.Add(c.interval)) {
			t.Errorf("%s: %v, changed %v, next %v", name, h.State(), changed, next)
		}
	}
}

func TestLateOutcomesNeitherReleaseNorProlong(t *testing.T) {
	h := health.New(start)
	first, second, third := h.Start(), h.Start(), h.Start()
	h.Observe(start, first, unavailable)
	before := h.Snapshot()
	if h.Observe(after(time.Second), second, unavailable) || h.Observe(after(2*time.Second), third, accepted) {
		t.Error("a late outcome changed the state")
	}
	if got := h.Snapshot(); got != before {
		t.Errorf("snapshot %+v, was %+v", got, before)
	}
	if h.Probed(after(3*time.Second), ready) {
		t.Error("a probe nobody started released the profile")
	}
}

func TestAHopThatPassesProbesAndFailsKeepsTheInterval(t *testing.T) {
	h := down(t)
	at := after(health.ProbeFirst)
	h.StartProbe(at)
	h.Probed(at, ready)
	h.Observe(at, h.Start(), unavailable)
	if got := h.Snapshot().NextProbe.Sub(at); got != 10*time.Second {
		t.Errorf("next probe after %v, want 10 s", got)
	}
	at = at.Add(10 * time.Second)
	h.StartProbe(at)
	h.Probed(at, ready)
	h.Observe(at, h.Start(), accepted)
	h.Observe(at, h.Start(), unavailable)
	if got := h.Snapshot().NextProbe.Sub(at); got != 5*time.Second {
		t.Errorf("next probe after %v, want 5 s after a success", got)
	}
}

func TestClockSteps(t *testing.T) {
	h := down(t)
	back := after(-3 * time.Hour)
	if h.StartProbe(back) {
		t.Error("a step back made the probe due")
	}
	if !h.StartProbe(back.Add(health.ProbeFirst)) {
		t.Error("a step back put the probe off")
	}
	h.Probed(back.Add(health.ProbeFirst), unavailable)
	if !h.StartProbe(after(24 * time.Hour)) {
		t.Error("a step forward put the probe off")
	}
}

// An attempt that began with the settings that were mended says nothing about
// the new ones: a refusal that arrives after the resume must not pause again.
func TestAttemptsBeforeAResumeDoNotCount(t *testing.T) {
	for _, class := range []postledger.OutcomeClass{postledger.OutcomeMisconfigured, postledger.OutcomeUnavailable} {
		h := health.New(start)
		old := h.Start()
		h.Observe(start, old, postledger.Outcome{Class: postledger.OutcomeMisconfigured})
		h.Resume(start)
		if h.Observe(start, old, postledger.Outcome{Class: class}) || h.State() != health.Up {
			t.Errorf("%s from before the resume changed the state to %s", class, h.State())
		}
		if !h.Observe(start, h.Start(), postledger.Outcome{Class: class}) || h.State() == health.Up {
			t.Errorf("%s from after the resume did not count", class)
		}
	}
}

func TestResumeDuringAProbe(t *testing.T) {
	h := down(t)
	h.StartProbe(after(health.ProbeFirst))
	h.Resume(after(6 * time.Second))
	if h.Probed(after(7*time.Second), unavailable) {
		t.Error("an old probe changed the state")
	}
	wantState(t, h, health.Up)
	h.Observe(after(8*time.Second), h.Start(), unavailable)
	if !h.StartProbe(after(13 * time.Second)) {
		t.Error("no probe after the second failure")
	}
}

func TestStateNames(t *testing.T) {
	for s, want := range map[health.State]string{health.Up: "up", health.Down: "down", health.Paused: "paused", 9: "state(9)"} {
		if s.String() != want {
			t.Errorf("%d is %q, want %q", s, s, want)
		}
	}
}
