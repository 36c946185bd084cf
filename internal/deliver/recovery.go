package deliver

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/journal"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/settle"
	"github.com/postledger/postledger/internal/transport"
)

// recoveryPage bounds one settle of a recovery or sweep.
const recoveryPage = 500

// watched is what this process has seen of other workers' heartbeats, by its
// own answers from the database and its own monotonic clock.
type watched map[postledger.ID]seen

type seen struct {
	beat int64
	// still is how long the beat has stood still, summed over looks that were
	// answered; at is the last of them.
	still time.Duration
	at    time.Time
}

// look notes a worker's beat and reports whether it is lost. One that is seen
// for the first time counts as alive, since nothing speaks against it yet.
func (s watched) look(w ledger.Worker, now time.Time, every, lost time.Duration) bool {
	was, known := s[w.ID]
	if !known || was.beat != w.Beats {
		s[w.ID] = seen{beat: w.Beats, at: now}
		return false
	}
	// A gap in our own looking (we were stopped, or the database was away)
	// counts as one interval at most: the other may not have been able to
	// write either.
	was.still += min(now.Sub(was.at), 2*every)
	was.at = now
	s[w.ID] = was
	return was.still >= lost
}

// recoveryLoop takes over from lost owners, fails what is past its deadline,
// and cancels what waits under a removed profile or a revoked grant.
func (w *Worker) recoveryLoop() {
	every := min(w.c.Recovery, w.c.LostAfter/4)
	tick := time.NewTicker(every)
	defer tick.Stop()
	sweepEvery := min(w.c.Recovery, time.Second)
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	var r rest
	for {
		select {
		case <-w.lifetime.Done():
			return
		case <-tick.C:
			if r.over(&w.life) {
				r.note(every, w.recoverLost(w.lifetime))
			}
		case <-sweep.C:
			if r.over(&w.life) {
				r.note(sweepEvery, w.sweep(w.lifetime))
			}
		}
	}
}

// recoverLost looks at every other worker that has not ended. Its error is that
// the ledger could not say which those are.
func (w *Worker) recoverLost(ctx context.Context) error {
	workers, err := w.c.Ledger.Workers(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.c.Log.Error("list workers", slog.Any("error", err))
		}
		return err
	}
	now := time.Now()
	every := min(w.c.Recovery, w.c.LostAfter/4)
	living := 1
	listed := make(map[postledger.ID]bool, len(workers))
	for _, v := range workers {
		listed[v.ID] = true
		if v.ID == w.id {
			continue
		}
		lost := w.others.look(v, now, every, w.c.LostAfter)
		ended, err := w.recoverWorker(ctx, v, lost)
		if err != nil && ctx.Err() == nil {
			w.c.Log.Error("recover worker", slog.String("lost", v.ID.String()), slog.Any("error", err))
		}
		if !lost && !ended {
			living++
		}
	}
	for id := range w.others {
		if !listed[id] {
			delete(w.others, id) // it has ended
		}
	}
	w.share(living)
	return nil
}

// recoverWorker settles what a dead worker left, by its journal when that
// proves anything, else as unconfirmed once it is lost. It reports whether the
// worker is known to have ended.
func (w *Worker) recoverWorker(ctx context.Context, v ledger.Worker, lost bool) (ended bool, err error) {
	path := filepath.Join(w.c.JournalDir, v.ID.String()+".journal")
	dead, err := journal.Open(path)
	if err == nil {
		defer dead.Close()
		if dead.Header().Ledger == w.ledgerID {
			if err := w.recoverByJournal(ctx, v, dead.Records()); err != nil {
				return true, err
			}
			if err := w.c.Ledger.EndWorker(ctx, v.ID); err != nil {
				return true, err
			}
			now, known, err := w.c.Ledger.WorkerByID(ctx, v.ID)
			if err != nil || (known && now.EndedAt.IsZero()) {
				// A lease that was being committed when it died has come
				// since: the next look needs the journal's proof about it.
				return true, err
			}
			return true, dead.Remove()
		}
		err = errOtherLedger
	}
	if !lost {
		return false, nil
	}
	w.c.Log.Warn("worker is lost and left no proof", slog.String("lost", v.ID.String()), slog.String("journal", err.Error()))
	if err := w.abandon(ctx, v); err != nil {
		return false, err
	}
	if errors.Is(err, journal.ErrAlive) {
		return false, nil // it may come back, and its late answers count
	}
	if err := w.c.Ledger.EndWorker(ctx, v.ID); err != nil {
		return false, err
	}
	if errors.Is(err, journal.ErrOtherBoot) || errors.Is(err, journal.ErrCorrupt) {
		if err := journal.Discard(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	return true, nil
}

var errOtherLedger = errors.New("the journal is another ledger's")

// recoverByJournal: what is known is settled (an answer, or a refusal before
// the last byte), what was begun and has no answer is unconfirmed, and what
// has no record never sent its last byte.
func (w *Worker) recoverByJournal(ctx context.Context, v ledger.Worker, records []journal.Record) error {
	type place struct {
		record *journal.Record
		at     int
	}
	at := map[journal.Member]place{}
	for i := range records {
		for j, m := range records[i].Members {
			at[m] = place{&records[i], j}
		}
	}
	return w.eachLease(ctx, v.ID, func(ls []ledger.Leased) []ledger.Settlement {
		w.c.Kill("recovery_read")
		groups := map[postledger.ID]*settle.Tried{}
		var order []postledger.ID
		for _, l := range ls {
			o := postledger.Outcome{Class: postledger.OutcomeReturned, Reason: postledger.ReasonReturned}
			if p, ok := at[journal.Member{Delivery: l.ID, Fence: l.Fence}]; ok {
				o = transport.InDoubt()
				if known := p.record.Outcomes; known != nil && known[p.at].Class.Certain() {
					o = known[p.at]
				}
			}
			t := groups[l.EnvelopeID]
			if t == nil {
				t = &settle.Tried{Horizon: w.horizon(l.ProfileID), Mover: postledger.MoverRecovery, Owner: v.ID}
				groups[l.EnvelopeID] = t
				order = append(order, l.EnvelopeID)
			}
			t.Members, t.Outcomes = append(t.Members, l), append(t.Outcomes, o)
		}
		var ss []ledger.Settlement
		for _, id := range order {
			ss = append(ss, settle.Decide(groups[id], rand.Float64, w.c.Ledger.NewID)...)
		}
		return ss
	})
}

func (w *Worker) horizon(profile postledger.ID) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.lineups[profile]; l != nil {
		return l.profile.Config.RetryHorizon()
	}
	return 0
}

// abandon makes a lost worker's leases unconfirmed: nobody knows.
func (w *Worker) abandon(ctx context.Context, v ledger.Worker) error {
	return w.eachLease(ctx, v.ID, func(ls []ledger.Leased) []ledger.Settlement {
		w.c.Kill("recovery_read")
		ss := make([]ledger.Settlement, len(ls))
		for i, l := range ls {
			ss[i] = ledger.Settlement{
				ID: l.ID, Fence: l.Fence, Owner: v.ID, Mover: postledger.MoverRecovery,
				To: postledger.StatusUnconfirmed, Reason: postledger.ReasonWorkerLost, Charged: true,
				Event: &ledger.Event{Kind: "recovery"},
			}
		}
		return ss
	})
}

// eachLease settles a worker's leases page by page.
func (w *Worker) eachLease(ctx context.Context, worker postledger.ID, plan func([]ledger.Leased) []ledger.Settlement) error {
	var after postledger.ID
	for {
		ls, err := w.c.Ledger.Leases(ctx, worker, after, recoveryPage)
		if err != nil || len(ls) == 0 {
			return err
		}
		after = ls[len(ls)-1].ID
		out, err := w.c.Ledger.Settle(ctx, plan(ls))
		if err != nil {
			return err
		}
		w.report(out)
		w.poke()
	}
}

// report tells what was settled outside a send, profile by profile.
func (w *Worker) report(out []ledger.Settled) {
	byProfile := map[postledger.ID][]ledger.Settled{}
	for _, s := range out {
		if !s.ProfileID.IsZero() {
			byProfile[s.ProfileID] = append(byProfile[s.ProfileID], s)
		}
	}
	for id, settled := range byProfile {
		name := ""
		w.mu.Lock()
		if l := w.lineups[id]; l != nil {
			name = l.profile.Name
		}
		w.mu.Unlock()
		w.c.Observer.Settled(name, settled)
	}
	w.c.OnSettled(messagesOf(out))
}
