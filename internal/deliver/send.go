package deliver

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/health"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/mime"
	"github.com/postledger/postledger/internal/settle"
	"github.com/postledger/postledger/internal/transport"
)

// sendFrom sends an envelope and then the profile's next ones while a
// connection may be used for them.
func (w *Worker) sendFrom(l *lineup, e *envelope) {
	for e != nil {
		w.send(e)
		w.mu.Lock()
		l.active[e.lane]--
		// The freed connection may serve the other lane too.
		e = l.next()
		if e != nil {
			w.startSenders(l)
		}
		w.mu.Unlock()
	}
}

// send takes one envelope through gates, render and transport to the settler.
// Memory comes first, since the wait for it may be long.
func (w *Worker) send(e *envelope) {
	if !w.mayStart(e) {
		w.giveBack(e, postledger.ReasonReturned)
		return
	}
	release, err := w.takeMemory(e)
	if err != nil {
		w.giveBack(e, postledger.ReasonReturned)
		return
	}
	defer release()
	if !w.mayStart(e) {
		w.giveBack(e, postledger.ReasonReturned)
		return
	}
	leased := len(e.members)
	stopped := w.gates(e)
	w.unspend(e, leased-len(e.members))
	if len(e.members) == 0 {
		w.submit(e, stopped, nil)
		return
	}
	if len(stopped) > 0 {
		w.submitPart(e, stopped)
	}
	if err := w.ensureContent(e); err != nil {
		w.c.Log.Error("load content", slog.String("message", e.members[0].MessageID.String()), slog.Any("error", err))
		w.giveBack(e, postledger.ReasonReturned)
		return
	}

	attachments := e.message.Content.Attachments
	reading, ok := w.shelf.admit(w.work, attachments)
	if !ok {
		w.giveBack(e, postledger.ReasonStorageUnavailable)
		return
	}

	w.mu.Lock()
	profile, hop, ticket := e.lineup.profile, e.lineup.hop, e.lineup.health.Start()
	w.mu.Unlock()
	if hop.Transport == nil { // the profile has just been changed to what cannot be used
		w.giveBack(e, postledger.ReasonReturned)
		return
	}

	msg, err := w.compose(e, profile, hop)
	if err != nil {
		w.c.Log.Error("compose message", slog.String("message", e.members[0].MessageID.String()), slog.Any("error", err))
		var unread *mime.AttachmentError
		if errors.As(err, &unread) {
			w.shelf.heard(w.work, reading, unread.Err)
			w.unspend(e, len(e.members))
		}
		w.decide(e, transport.Every(len(e.members), composeOutcome(err)), nil)
		return
	}
	defer msg.Release()
	watched := &watchedMessage{Message: msg}
	wr := &wire{w: w, e: e}
	env, err := transportEnvelope(e, profile, watched)
	if err != nil {
		w.decide(e, transport.Every(len(e.members), refusedHere(err)), nil)
		return
	}
	began := time.Now()
	outcomes := hop.Transport.Send(w.work, env, wr)
	took := time.Since(began)
	watched.blame(outcomes)
	if len(attachments) > 0 {
		w.shelf.heard(w.work, reading, watched.failed)
	}
	w.observe(e.lineup, ticket, outcomes)
	for _, o := range outcomes {
		w.c.Observer.Sent(profile.Name, e.members[0].Lane, o.Class, took)
	}
	w.decide(e, outcomes, wr)
}

// mayStart says that the worker neither stops nor was silent since the lease.
func (w *Worker) mayStart(e *envelope) bool {
	return w.lifetime.Err() == nil && w.life.holds(e.era)
}

func (w *Worker) ensureContent(e *envelope) error {
	if !e.message.ContentDeferred {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.work, w.c.Timeout)
	defer cancel()
	id := e.members[0].MessageID
	m, err := w.c.Ledger.LoadToSend(ctx, []postledger.ID{id}, 1<<40)
	if err != nil {
		return err
	}
	if m[id] == nil {
		return errors.New("the message is gone")
	}
	e.message = m[id]
	return nil
}

// composeOutcome: what cannot be built now or ever. The hop has no part in it.
func composeOutcome(err error) postledger.Outcome {
	var field *mime.FieldError
	var unread *mime.AttachmentError
	switch {
	case errors.As(err, &unread):
		return unreadOutcome(unread.Err)
	case errors.Is(err, errContentGone):
		return postledger.Outcome{Class: postledger.OutcomeRefused, Reason: postledger.ReasonContentLost, Text: "the content needed to build the message is missing"}
	case errors.As(err, &field):
		return refusedHere(err)
	default:
		return postledger.Outcome{Class: postledger.OutcomeDeferred, Text: "the message could not be built"}
	}
}

func refusedHere(err error) postledger.Outcome {
	return postledger.Outcome{Class: postledger.OutcomeRefused, Reason: postledger.ReasonRejectedMessage, Text: err.Error()}
}

// observe tells health and pace what the hop said, and reacts when that
// changes the profile's state.
func (w *Worker) observe(l *lineup, ticket health.Ticket, outcomes []postledger.Outcome) {
	now := time.Now()
	accepted, throttled, returned := 0, false, 0
	for _, o := range outcomes {
		switch o.Class {
		case postledger.OutcomeAccepted:
			accepted++
		case postledger.OutcomeThrottled:
			throttled = true
		case postledger.OutcomeReturned, postledger.OutcomeUnavailable, postledger.OutcomeMisconfigured:
			returned++
		}
	}
	w.mu.Lock()
	l.pace.Return(now, returned)
	if throttled {
		l.pace.Throttled(now)
	} else if accepted > 0 {
		l.pace.Accepted(now, accepted)
	}
	changed := l.health.Observe(now, ticket, typical(outcomes))
	snap := l.health.Snapshot()
	var back []*envelope
	if changed && snap.State != health.Up {
		back = l.recall()
	}
	profile := l.profile
	w.mu.Unlock()
	if changed {
		w.healthChanged(profile, snap)
	}
	for _, e := range back {
		w.giveBack(e, postledger.ReasonReturned)
	}
}

// typical is the outcome that says most about the hop: what befell the
// connection before a reply, a reply before what was decided without one.
func typical(outcomes []postledger.Outcome) postledger.Outcome {
	best, rank := outcomes[0], 0
	for _, o := range outcomes {
		r := 1
		switch {
		case o.Class == postledger.OutcomeMisconfigured:
			r = 4
		case o.Class == postledger.OutcomeUnavailable:
			r = 3
		case o.Code != 0 || o.Class == postledger.OutcomeAccepted:
			r = 2
		}
		if r > rank {
			best, rank = o, r
		}
	}
	return best
}

// unspend gives pace back for deliveries that were leased and not offered.
func (w *Worker) unspend(e *envelope, n int) {
	if e.lineup == nil || n == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e.lineup.pace.Return(time.Now(), n)
}

func (w *Worker) healthChanged(p postledger.Profile, s health.Snapshot) {
	w.c.Observer.Health(p.Name, s.State.String())
	switch s.State {
	case health.Down:
		w.c.Log.Warn("profile is down", slog.String("profile", p.Name), slog.String("outcome", s.Why()), slog.Time("next_probe", s.NextProbe))
	case health.Paused:
		w.c.Log.Error("profile is paused with an alarm", slog.String("profile", p.Name), slog.String("alarm", s.Alarm))
		w.recordPause(p.ID, s.Alarm)
	default:
		w.c.Log.Info("profile is up", slog.String("profile", p.Name))
		w.poke()
	}
}

// giveBack returns an envelope that has not begun: nobody else may.
func (w *Worker) giveBack(e *envelope, reason postledger.Reason) {
	w.unspend(e, len(e.members))
	w.decide(e, transport.Every(len(e.members), postledger.Outcome{Class: postledger.OutcomeReturned, Reason: reason}), nil)
}

// decide turns outcomes into settlements and hands them to the settler.
func (w *Worker) decide(e *envelope, outcomes []postledger.Outcome, wr *wire) {
	ss := settle.Decide(&settle.Tried{
		Members: e.members, Outcomes: outcomes, Mover: postledger.MoverWorker,
		Horizon: w.horizon(e.members[0].ProfileID),
	}, rand.Float64, w.c.Ledger.NewID)
	w.submit(e, ss, wr)
}

// submitPart settles members that a gate stopped; the rest goes on.
func (w *Worker) submitPart(e *envelope, ss []ledger.Settlement) {
	w.hand(e, ss, nil, 0)
}

// submit settles the envelope, or what is left of it.
func (w *Worker) submit(e *envelope, ss []ledger.Settlement, wr *wire) { w.hand(e, ss, wr, 1) }

// hand hands settlements over. Only their commit frees the places of leases and
// the journal's slot.
func (w *Worker) hand(e *envelope, ss []ledger.Settlement, wr *wire, places int) {
	w.settler.Submit(ss, w.awaited(e), func(out []ledger.Settled) {
		if wr != nil {
			wr.free()
		}
		name := ""
		w.mu.Lock()
		if e.lineup != nil {
			e.lineup.leased[e.lane] -= places
			e.lineup.tempo[e.lane].note(time.Now(), places)
			name = e.lineup.profile.Name
		}
		for i := range ss {
			if w.held[ss[i].ID] == ss[i].Fence {
				delete(w.held, ss[i].ID)
			}
		}
		w.mu.Unlock()
		w.poke()
		w.c.Observer.Settled(name, out)
		w.c.OnSettled(messagesOf(out))
	})
}

// awaited reports whether somebody waits for the settle: a caller for immediate
// mail, or connections for the leases that it frees. They wait before the last
// envelope that is ready has been taken: freeing and leasing take as long as the
// connections do with what is ready for each of them.
func (w *Worker) awaited(e *envelope) bool {
	if e.lane == immediate || e.lineup == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(e.lineup.queue[e.lane]) < e.lineup.may(e.lane)
}

func messagesOf(out []ledger.Settled) []postledger.ID {
	var ids []postledger.ID
	for i := range out {
		if id := out[i].MessageID; !id.IsZero() && (len(ids) == 0 || ids[len(ids)-1] != id) {
			ids = append(ids, id)
		}
	}
	return ids
}
