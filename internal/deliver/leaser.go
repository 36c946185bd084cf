package deliver

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

const (
	// turnQuantum is how many deliveries a key is granted in one turn.
	turnQuantum = 8
	// leaseMost bounds one lease over all keys.
	leaseMost = 500
	// contentInLease is the largest content loaded together with a lease;
	// larger ones are loaded by their sender, within the memory budget.
	contentInLease = 256 << 10
)

// keyState is what is remembered of a key that has or had work.
type keyState struct {
	trail ledger.Trail
	// asleep until then, unless somebody wakes it: it had nothing due.
	asleep time.Time
	// added is when it was last put to work.
	added time.Time
}

// addKey puts a key to work. Worker.mu is held.
func (w *Worker) addKey(k ledger.ClaimKey) {
	st := w.keys[k]
	if st == nil {
		st = &keyState{}
		w.keys[k] = st
	}
	st.asleep, st.added = time.Time{}, time.Now()
	w.turns[laneOf(k.Lane)].Add(k)
}

// leaseLoop is the one leaser: it leases when there is room and work, and
// else waits to be woken or for the poll. The poll's turn comes also while there
// is always something to lease: a backlog that keeps the leaser busy must not
// hide what another process accepted, or what has become due.
func (w *Worker) leaseLoop() {
	poll := time.NewTicker(w.c.PollImmediate)
	defer poll.Stop()
	var r rest
	w.look(&r)
	for {
		for w.life.fresh() && w.lifetime.Err() == nil && w.leaseOnce() {
			select {
			case <-poll.C:
				w.look(&r)
			default:
			}
		}
		select {
		case <-w.lifetime.Done():
			return
		case <-poll.C:
			w.look(&r)
			continue
		default:
		}
		select {
		case <-w.lifetime.Done():
			return
		case <-w.wake:
		case <-poll.C:
			w.look(&r)
		}
	}
}

// look finds what nobody woke the leaser for, unless it rests from failures.
func (w *Worker) look(r *rest) {
	if !w.life.fresh() || !r.over(&w.life) {
		return
	}
	err := w.returnDoubtful()
	if err == nil {
		err = w.scanKeys()
	}
	r.note(w.c.PollImmediate, err)
}

// leaseOnce leases one round and hands it to the profiles; it reports whether
// another round may find more.
func (w *Worker) leaseOnce() bool {
	wants := w.wants()
	if len(wants) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(w.work, w.c.Timeout)
	defer cancel()
	began, era := time.Now(), w.life.era()
	claimed, err := w.c.Ledger.Lease(ctx, w.id, w.life.known(), wants)
	if err != nil {
		w.release(wants)
		w.doubtful = time.Now().Add(doubtFor)
		if w.lifetime.Err() == nil {
			w.c.Log.Error("lease", slog.Any("error", err))
			w.pause(time.Second)
		}
		return false
	}
	for i := range claimed {
		if err := w.life.committed(ledger.Counts{Beats: claimed[i].Beats}); err != nil {
			w.fail(err) // nothing of it has begun: its journal frees it
			return false
		}
	}
	w.c.Kill("lease_committed")
	took := time.Since(began)
	var all [2][]*envelope
	any := false
	for i := range claimed {
		ln := laneOf(wants[i].Key.Lane)
		all[ln] = append(all[ln], w.take(wants[i], &claimed[i], began, era)...)
		if n := len(claimed[i].Leased); n > 0 {
			any = true
			w.c.Observer.Leased(wants[i].Key.Lane, n, took)
		}
	}
	// Immediate mail leaves before bulk's bodies are read, which may be many
	// megabytes.
	loaded := true
	for _, ln := range []lane{immediate, bulk} {
		loaded = w.load(ctx, all[ln]) && loaded
		w.enqueue(all[ln])
	}
	if !loaded {
		// What was leased goes back and would be leased again at once.
		w.pause(time.Second)
	}
	return any && loaded
}

// pause waits, or returns when the worker stops.
func (w *Worker) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.lifetime.Done():
	}
}

// wants asks each lane's keys in turn how many they may lease, immediate
// first, and reserves that many.
func (w *Worker) wants() []ledger.Want {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	ahead := now.Sub(w.urgent) > aloneFor
	var out []ledger.Want
	for _, ln := range []lane{immediate, bulk} {
		grants := w.turns[ln].Next(leaseMost, func(k ledger.ClaimKey, n int) int {
			l := w.lineups[k.Profile]
			if l == nil || w.barred(k.App, k.Profile) {
				return 0
			}
			n = min(n, l.room(ln, now, ahead))
			l.leased[ln] += n
			l.pace.Take(now, n)
			return n
		})
		for _, g := range grants {
			st := w.keys[g.Key]
			out = append(out, ledger.Want{Key: g.Key, N: g.N, After: st.trail.Begin(now)})
		}
	}
	return out
}

// release gives back what wants reserved.
func (w *Worker) release(wants []ledger.Want) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, want := range wants {
		w.correct(want, 0, 0)
	}
}

// correct replaces a reservation by what was really leased. Worker.mu is held.
func (w *Worker) correct(want ledger.Want, envelopes, deliveries int) {
	l := w.lineups[want.Key.Profile]
	if l == nil {
		return
	}
	l.leased[laneOf(want.Key.Lane)] += envelopes - want.N
	if over := deliveries - want.N; over < 0 {
		l.pace.Return(time.Now(), -over)
	} else {
		l.pace.Take(time.Now(), over)
	}
}

// take notes what a claim brought and forms its envelopes.
func (w *Worker) take(want ledger.Want, c *ledger.Claimed, leasedAt time.Time, era int64) []*envelope {
	ln := laneOf(want.Key.Lane)
	envelopes := map[postledger.ID]bool{}
	w.mu.Lock()
	for i := range c.Leased {
		w.held[c.Leased[i].ID] = c.Leased[i].Fence
		envelopes[c.Leased[i].EnvelopeID] = true
	}
	if ln == immediate && len(c.Leased) > 0 {
		w.urgent = time.Now()
	}
	w.correct(want, len(envelopes), len(c.Leased))
	if over := len(c.Leased) - want.N; over > 0 {
		w.turns[ln].Charge(want.Key, over)
	}
	l := w.lineups[want.Key.Profile]
	if st := w.keys[want.Key]; st != nil {
		st.trail.Claimed(c)
		if c.Short && len(c.Leased) == 0 {
			poll := w.c.PollImmediate
			if ln == bulk {
				poll = w.c.PollBulk
			}
			st.asleep = time.Now().Add(poll)
			w.turns[ln].Remove(want.Key)
		}
	}
	w.mu.Unlock()
	return form(c.Leased, envelope{lineup: l, lane: ln, leasedAt: leasedAt, era: era})
}

// form makes envelopes of what a claim brought, in its order, each like the one
// given. Those of one recipient, which are nearly all, keep it where it is.
func form(leased []ledger.Leased, like envelope) []*envelope {
	out := make([]*envelope, 0, len(leased))
	shared := map[postledger.ID]*envelope{}
	for i := range leased {
		d := &leased[i]
		e := shared[d.EnvelopeID]
		if e == nil {
			e = new(like)
			out = append(out, e)
		}
		if d.EnvelopeID == d.ID {
			e.members = leased[i : i+1 : i+1]
			continue
		}
		shared[d.EnvelopeID] = e
		e.members = append(e.members, *d)
	}
	for _, e := range shared {
		slices.SortFunc(e.members, func(a, b ledger.Leased) int { return a.Position - b.Position })
	}
	return out
}

// load reads the messages of a round's lane, all in one query; it reports
// whether that went well.
func (w *Worker) load(ctx context.Context, all []*envelope) bool {
	if len(all) == 0 {
		return true
	}
	seen := make(map[postledger.ID]bool, len(all))
	ids := make([]postledger.ID, 0, len(all))
	most := int64(contentInLease)
	w.mu.Lock()
	for _, e := range all {
		if id := e.members[0].MessageID; !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
		if l := e.lineup; l != nil {
			most = min(most, contentMost(l.leased[e.lane], l.may(e.lane)))
		}
	}
	w.mu.Unlock()
	loaded, err := w.c.Ledger.LoadToSend(ctx, ids, most)
	if err != nil {
		w.c.Log.Error("load messages", slog.Any("error", err))
		return false // their senders give them back
	}
	for _, e := range all {
		e.message = loaded[e.members[0].MessageID]
	}
	return true
}

// enqueue hands envelopes to their profiles and starts senders.
func (w *Worker) enqueue(all []*envelope) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range all {
		// The profile may have gone down, or been paused, while these were leased and read.
		if e.lineup == nil || e.message == nil || !e.lineup.open() {
			w.senders.Go(func() { w.giveBack(e, postledger.ReasonReturned) })
			continue
		}
		e.lineup.queue[e.lane] = append(e.lineup.queue[e.lane], e)
	}
	started := map[*lineup]bool{}
	for _, e := range all {
		if e.lineup != nil && !started[e.lineup] {
			started[e.lineup] = true
			w.startSenders(e.lineup)
		}
	}
}

// startSenders gives each envelope that a connection is free for to a sender,
// which goes on with the profile's next ones. At most connections of them send.
// Worker.mu is held.
func (w *Worker) startSenders(l *lineup) {
	for e := l.next(); e != nil; e = l.next() {
		w.startSender(handed{l, e})
	}
}

// doubtFor is how long after a lease without an answer its rows are looked
// for: its COMMIT may still be on the way to the database.
const doubtFor = time.Minute

// returnDoubtful frees what a lease without an answer may have leased. Only
// the leaser calls it, so no other lease is under way; what this process holds
// is in held from the lease's answer to the settle's commit.
func (w *Worker) returnDoubtful() error {
	if w.doubtful.IsZero() {
		return nil
	}
	over := time.Now().After(w.doubtful)
	ctx, cancel := context.WithTimeout(w.lifetime, w.c.Timeout)
	defer cancel()
	var after postledger.ID
	for {
		ls, err := w.c.Ledger.Leases(ctx, w.id, after, recoveryPage)
		if err != nil {
			return err // asked again at the next poll
		}
		if len(ls) == 0 {
			break
		}
		after = ls[len(ls)-1].ID
		var ss []ledger.Settlement
		w.mu.Lock()
		for _, l := range ls {
			if w.held[l.ID] != l.Fence {
				ss = append(ss, ledger.Settlement{
					ID: l.ID, Fence: l.Fence, Owner: w.id, Mover: postledger.MoverWorker,
					To: postledger.StatusQueued, Reason: postledger.ReasonReturned,
				})
			}
		}
		w.mu.Unlock()
		if _, err := w.c.Ledger.Settle(ctx, ss); err != nil {
			return err
		}
	}
	if over {
		w.doubtful = time.Time{}
	}
	return nil
}
