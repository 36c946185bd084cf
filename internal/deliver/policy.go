package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/health"
	"github.com/postledger/postledger/internal/deliver/pace"
	"github.com/postledger/postledger/internal/ledger"
)

// policyEvery is how soon a change that another process made is obeyed.
const policyEvery = time.Second

// policyLoop reads profiles and revocations, and probes hops that are down.
func (w *Worker) policyLoop() {
	tick := time.NewTicker(policyEvery)
	defer tick.Stop()
	var r rest
	for {
		told := false
		select {
		case <-w.lifetime.Done():
			return
		case <-w.reload:
			told = true
		case <-tick.C:
		}
		if told || r.over(&w.life) {
			ctx, cancel := context.WithTimeout(w.lifetime, w.c.Timeout)
			err := w.readPolicy(ctx)
			cancel()
			if err != nil && w.lifetime.Err() == nil {
				w.c.Log.Error("read policy", slog.Any("error", err))
			}
			if r.note(policyEvery, err); err == nil {
				w.recordPauses()
			}
		}
		w.probeDue()
	}
}

// readPolicy applies what profiles and grants say now.
func (w *Worker) readPolicy(ctx context.Context) error {
	asked := time.Now()
	p, err := w.c.Ledger.PolicySnapshot(ctx)
	if err != nil {
		return err
	}
	revoked := revokedPairs(&p)
	removed := make(map[postledger.ID]bool, len(p.Removed))
	for _, id := range p.Removed {
		removed[id] = true
	}
	var back []*envelope
	var old []Hop
	woken := false
	w.mu.Lock()
	w.revoked, w.removedApps = revoked, removed
	for i := range p.Profiles {
		b, o, awake := w.applyProfile(p.Profiles[i], asked)
		back, old, woken = append(back, b...), append(old, o...), woken || awake
	}
	w.mu.Unlock()
	for _, e := range back {
		w.giveBack(e, postledger.ReasonReturned)
	}
	for _, h := range old {
		if err := h.Transport.Close(); err != nil {
			w.c.Log.Warn("close transport", slog.Any("error", err))
		}
	}
	if woken {
		w.poke()
	}
	return nil
}

// revokedPairs are the grants that were taken back and still are: an app that
// has no grant left may use the default profile.
func revokedPairs(p *ledger.Policy) map[Pair]bool {
	granted := map[postledger.ID]bool{}
	for _, g := range p.Grants {
		granted[g.AppID] = true
	}
	var byDefault postledger.ID
	for i := range p.Profiles {
		if p.Profiles[i].IsDefault {
			byDefault = p.Profiles[i].ID
		}
	}
	out := make(map[Pair]bool, len(p.Revoked))
	for _, g := range p.Revoked {
		if g.ProfileID != byDefault || granted[g.AppID] {
			out[Pair{g.AppID, g.ProfileID}] = true
		}
	}
	return out
}

// barred reports whether an app lost its right to a profile. Worker.mu is held.
func (w *Worker) barred(app, profile postledger.ID) bool {
	return w.removedApps[app] || w.revoked[Pair{app, profile}]
}

// applyProfile makes or updates a profile's lineup with what the ledger said
// when it was asked. Worker.mu is held.
func (w *Worker) applyProfile(p postledger.Profile, asked time.Time) (back []*envelope, old []Hop, woken bool) {
	now := time.Now()
	l := w.lineups[p.ID]
	starts := l == nil
	if starts {
		l = &lineup{
			health: health.New(now), profile: postledger.Profile{Revision: -1},
			memory: budgets(w.c.MemoryBudget / 4),
		}
		l.pace, _ = pace.New(pace.Config{}, now) // no limit is a valid one
		w.lineups[p.ID] = l
	}
	was := l.profile
	l.profile = p
	if was.Revision != p.Revision {
		if l.hop.Transport != nil {
			old = append(old, l.hop)
		}
		l.configure(w, now)
		woken = true
	}
	if starts {
		// The process before this one leased ahead of the pace, and so will
		// this one: without the debt each start would send what that is at once.
		l.pace.Owe(now, paceWindow)
	}
	// Resumed, also when the pause that this worker recorded was never seen.
	recorded := !l.pauseRecorded.IsZero() && asked.After(l.pauseRecorded)
	if p.PausedAt.IsZero() && (!was.PausedAt.IsZero() || recorded) {
		l.health.Resume(now)
		woken = true
	}
	if recorded {
		l.pauseRecorded = time.Time{}
	}
	if !p.PausedAt.IsZero() || !p.RemovedAt.IsZero() || l.stopped {
		back = l.recall()
	}
	return back, old, woken
}

// configure makes the hop anew: settings or secrets have changed.
func (l *lineup) configure(w *Worker, now time.Time) {
	p := l.profile
	l.connections, l.reserve = max(2, p.Config.Connections), p.Config.ImmediateReserve()
	l.health.Resume(now)
	l.hop, l.stopped, l.alarm = Hop{}, true, ""
	if err := l.pace.Configure(now, w.paceOf(p)); err != nil {
		w.c.Log.Error("profile's pace", slog.String("profile", p.Name), slog.Any("error", err))
		return
	}
	if !p.RemovedAt.IsZero() {
		return
	}
	hop, err := w.c.Hop(p)
	if err != nil {
		w.c.Log.Error("make transport; the profile sends nothing until it is changed", slog.String("profile", p.Name), slog.Any("error", err))
		return
	}
	l.hop, l.stopped = hop, false
}

// probeDue starts one probe for each profile that is down and whose time has come.
func (w *Worker) probeDue() {
	now := time.Now()
	w.mu.Lock()
	for _, l := range w.lineups {
		if !l.stopped && l.profile.PausedAt.IsZero() && l.health.StartProbe(now) {
			hop := l.hop
			w.loops.Go(func() { w.probe(l, hop) })
		}
	}
	w.mu.Unlock()
}

func (w *Worker) probe(l *lineup, hop Hop) {
	ctx, cancel := context.WithTimeout(w.lifetime, time.Minute)
	defer cancel()
	o := hop.Transport.Probe(ctx)
	w.mu.Lock()
	changed := l.health.Probed(time.Now(), o)
	snap, p := l.health.Snapshot(), l.profile
	w.mu.Unlock()
	if changed {
		w.healthChanged(p, snap)
	}
}

// Health is the state of a profile's hop, for the API and the metrics. One that
// this process cannot use as it is configured, such as with a password sealed
// with a key it does not have, is paused until it is changed.
func (w *Worker) Health(profile postledger.ID) (health.Snapshot, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lineups[profile]
	if l == nil {
		return health.Snapshot{}, false
	}
	s := l.health.Snapshot()
	if l.stopped && l.profile.RemovedAt.IsZero() {
		s.State, s.NextProbe = health.Paused, time.Time{}
		s.Reason = postledger.Outcome{Class: postledger.OutcomeMisconfigured}
		s.Alarm = "this process cannot use the profile's configuration; its log says why"
	}
	return s, true
}
