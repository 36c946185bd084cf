package ledgertest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Lease: invariant 3, claims by key with a cursor, whole envelopes.
func Lease(t *testing.T, open Opener) {
	t.Run("oldest first, under a new fence", func(t *testing.T) {
		w := NewWorld(t, open)
		var ids []postledger.ID
		for range 5 {
			ids = append(ids, w.Send([]string{"a@x.example"})[0])
		}
		got := w.LeaseN(3)
		if len(got) != 3 {
			t.Fatalf("leased %d", len(got))
		}
		for i, d := range got {
			if d.ID != ids[i] || d.Fence != 1 || d.LeasedAt.IsZero() || d.Address != "a@x.example" {
				t.Errorf("lease %d: %+v", i, d)
			}
			if r := w.Row(d.ID); r.Status != postledger.StatusSending || !r.DueAt.IsZero() {
				t.Errorf("row %d: %+v", i, r)
			}
		}
		if again := w.LeaseN(10); len(again) != 2 {
			t.Errorf("then leased %d", len(again))
		}
		held, err := w.Leases(t.Context(), w.Worker.ID, postledger.ID{}, 100)
		must(t, err)
		if len(held) != 5 {
			t.Errorf("holds %d", len(held))
		}
	})

	t.Run("the cursor skips what lies before it", func(t *testing.T) {
		w := NewWorld(t, open)
		var ids []postledger.ID
		for range 4 {
			ids = append(ids, w.Send([]string{"a@x.example"})[0])
		}
		key := w.Key(postledger.LaneImmediate)
		c := w.LeaseFor(w.Worker.ID, ledger.Want{Key: key, N: 2})
		if c.Short || c.After.ID != ids[1] {
			t.Fatalf("claim %+v", c)
		}
		// A retry that is due again lies behind the cursor until it is reset.
		w.MustSettle(ledger.Settlement{
			ID: ids[0], Fence: 1, Mover: postledger.MoverWorker, To: postledger.StatusQueued, Delay: -time.Hour,
			Reason: postledger.ReasonReturned, Uncharged: true,
		})
		c = w.LeaseFor(w.Worker.ID, ledger.Want{Key: key, N: 5, After: c.After})
		if len(c.Leased) != 2 || !c.Short {
			t.Fatalf("second claim %+v", c)
		}
		c = w.LeaseFor(w.Worker.ID, ledger.Want{Key: key, N: 5})
		if len(c.Leased) != 1 || c.Leased[0].ID != ids[0] || c.Leased[0].Fence != 2 || c.Leased[0].Uncharged != 1 {
			t.Fatalf("after the reset %+v", c)
		}
	})

	t.Run("only what is due, of the key alone", func(t *testing.T) {
		w := NewWorld(t, open)
		w.Send([]string{"a@x.example"}, WithSendAt(time.Now().Add(time.Hour)))
		w.Send([]string{"a@x.example"}, WithLane(postledger.LaneBulk))
		if got := w.LeaseN(10); len(got) != 0 {
			t.Fatalf("leased %d", len(got))
		}
		keys, err := w.Waiting(t.Context())
		must(t, err)
		mine := slices.DeleteFunc(keys, func(k ledger.ClaimKey) bool { return k.App != w.App.ID })
		if len(mine) != 2 {
			t.Fatalf("waiting %+v", keys)
		}
		got, err := w.Backlogs(t.Context())
		must(t, err)
		late := got[w.Profile.ID].LateBy
		if _, ok := late[postledger.LaneImmediate]; !ok || late[postledger.LaneImmediate] != 0 || late[postledger.LaneBulk] <= 0 {
			t.Fatalf("late by %v", late)
		}
	})

	t.Run("what waits beyond what was passed", func(t *testing.T) {
		w := NewWorld(t, open)
		bulk, now := w.Key(postledger.LaneBulk), w.Key(postledger.LaneImmediate)
		for range 3 {
			w.Send([]string{"a@x.example"}, WithLane(postledger.LaneBulk))
		}
		w.Send([]string{"a@x.example"})
		between := w.LeaseFor(w.Worker.ID, ledger.Want{Key: bulk, N: 2}).After
		last := w.LeaseFor(w.Worker.ID, ledger.Want{Key: bulk, N: 2, After: between}).After
		w.Send([]string{"a@x.example"}, WithLane(postledger.LaneBulk), WithSendAt(time.Now().Add(time.Hour)))
		stranger := ledger.ClaimKey{Profile: w.NewID(), Lane: postledger.LaneBulk, App: w.NewID()}
		for name, passed := range map[string][]ledger.Passed{
			"nothing passed": nil,
			"one":            {{Key: bulk, After: last}},
			"both":           {{Key: bulk, After: between}, {Key: now}},
			"strangers too":  {{Key: stranger, After: last}, {Key: now}, {Key: bulk, After: last}, {Key: ledger.ClaimKey{}, After: last}},
		} {
			before, err := w.Now(t.Context())
			must(t, err)
			got, err := w.WaitingBeyond(t.Context(), passed)
			must(t, err)
			after, err := w.Now(t.Context())
			must(t, err)
			mine := slices.DeleteFunc(got.Keys, func(k ledger.ClaimKey) bool { return k.App != w.App.ID })
			if len(mine) != 2 || !slices.Contains(mine, bulk) || !slices.Contains(mine, now) {
				t.Errorf("%s: waiting %+v", name, got.Keys)
			}
			if slices.ContainsFunc(got.Keys, func(k ledger.ClaimKey) bool { return k == stranger || k == ledger.ClaimKey{} }) {
				t.Errorf("%s: a key waits under which nothing is", name)
			}
			if got.Now < before.UnixMicro() || got.Now > after.UnixMicro() {
				t.Errorf("%s: the clock says %d between %v and %v", name, got.Now, before, after)
			}
		}
	})

	t.Run("the clock is told also when nothing waits", func(t *testing.T) {
		w := NewWorld(t, open)
		got, err := w.WaitingBeyond(t.Context(), []ledger.Passed{{Key: w.Key(postledger.LaneBulk), After: ledger.Cursor{Due: 1}}})
		must(t, err)
		if len(slices.DeleteFunc(got.Keys, func(k ledger.ClaimKey) bool { return k.App != w.App.ID })) != 0 || got.Now == 0 {
			t.Errorf("waiting %+v", got)
		}
	})

	t.Run("an envelope is leased whole", func(t *testing.T) {
		w := NewWorld(t, open)
		w.Send([]string{"a@x.example", "b@x.example", "c@x.example"})
		got := w.LeaseN(1)
		if len(got) != 3 {
			t.Fatalf("leased %d of 3", len(got))
		}
		// Members that go back form the envelope they are given.
		next := w.NewID()
		for _, d := range got[:2] {
			w.MustSettle(ledger.Settlement{
				ID: d.ID, Fence: d.Fence, Mover: postledger.MoverWorker, To: postledger.StatusQueued,
				Reason: postledger.ReasonDeferred, Charged: true, Envelope: next,
			})
		}
		w.MustSettle(ledger.Settlement{ID: got[2].ID, Fence: got[2].Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent})
		got = w.LeaseN(1)
		if len(got) != 2 || got[0].EnvelopeID != next || got[0].Attempts != 1 || got[0].FirstChargedAt.IsZero() {
			t.Fatalf("then leased %+v", got)
		}
	})

	t.Run("two workers share nothing", func(t *testing.T) {
		w := NewWorld(t, open)
		other := w.StartNewWorker()
		for range 30 {
			w.Send([]string{"a@x.example", "b@x.example"})
		}
		var mu sync.Mutex
		seen := map[postledger.ID]int{}
		var wg sync.WaitGroup
		for _, worker := range []postledger.ID{w.Worker.ID, other.ID} {
			wg.Go(func() {
				for empty := 0; empty < 3; {
					c, err := w.Lease(t.Context(), worker, ledger.Counts{}, []ledger.Want{{Key: w.Key(postledger.LaneImmediate), N: 7}})
					if err != nil {
						t.Error(err)
						return
					}
					if len(c[0].Leased) == 0 {
						empty++
					}
					members := map[postledger.ID]int{}
					mu.Lock()
					for _, d := range c[0].Leased {
						seen[d.ID]++
						members[d.EnvelopeID]++
					}
					mu.Unlock()
					for e, n := range members {
						if n != 2 {
							t.Errorf("envelope %s leased with %d of 2", e, n)
						}
					}
				}
			})
		}
		wg.Wait()
		if len(seen) != 60 {
			t.Errorf("leased %d of 60", len(seen))
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s leased %d times", id, n)
			}
		}
	})

	t.Run("not for a worker the ledger does not know, nor while restoring", func(t *testing.T) {
		w := NewWorld(t, open)
		w.Send([]string{"a@x.example"})
		want := ledger.Want{Key: w.Key(postledger.LaneImmediate), N: 1}
		if c := w.LeaseFor(w.NewID(), want); len(c.Leased) != 0 {
			t.Error("leased for an unknown worker")
		}
		moment, err := w.BeginRestore(t.Context(), time.Time{}, nil)
		must(t, err)
		if c := w.LeaseFor(w.Worker.ID, want); len(c.Leased) != 0 {
			t.Error("leased while restoring")
		}
		if later, err := w.EndRestore(t.Context(), moment); err != nil || !later.IsZero() {
			t.Fatalf("end restore: %v %v", later, err)
		}
		if c := w.LeaseFor(w.Worker.ID, want); len(c.Leased) != 1 {
			t.Error("not leased after the restore")
		}
	})
}

// Worker: heartbeats and ends.
func Worker(t *testing.T, open Opener) {
	t.Run("a heartbeat follows the last one known", func(t *testing.T) {
		w := NewWorld(t, open)
		beat, err := w.Heartbeat(t.Context(), w.Worker.ID, ledger.Counts{Beats: 1})
		must(t, err)
		if beat != 2 {
			t.Fatalf("beat %d", beat)
		}
		// The answer was lost: what the worker knows is behind, and that is no error.
		if beat, err = w.Heartbeat(t.Context(), w.Worker.ID, ledger.Counts{Beats: 1}); err != nil || beat != 3 {
			t.Fatalf("again: %d %v", beat, err)
		}
		for _, last := range []ledger.Counts{{Beats: 9}, {Settles: 1}} {
			if _, err = w.Heartbeat(t.Context(), w.Worker.ID, last); !errors.Is(err, ledger.ErrWorkerUnknown) {
				t.Fatalf("a row older than its worker's %+v was taken: %v", last, err)
			}
		}
	})
	// Invariant 17: what was leased or settled after a backup shows in the counter.
	t.Run("leases and settles move the counter", func(t *testing.T) {
		w := NewWorld(t, open)
		key := w.Key(postledger.LaneImmediate)
		if c := w.LeaseFor(w.Worker.ID, ledger.Want{Key: key, N: 1}); c.Beats != 0 {
			t.Fatalf("an empty lease moved it to %d", c.Beats)
		}
		w.Send([]string{"a@x.example"})
		c := w.LeaseFor(w.Worker.ID, ledger.Want{Key: key, N: 1})
		if c.Beats != 2 {
			t.Fatalf("lease: %d", c.Beats)
		}
		sent := []ledger.Settlement{{ID: c.Leased[0].ID, Fence: 1, Mover: postledger.MoverWorker, To: postledger.StatusSent}}
		if _, settles, err := w.SettleBy(t.Context(), w.Worker.ID, ledger.Counts{}, sent); err != nil || settles != 1 {
			t.Fatalf("settle: %d %v", settles, err)
		}
		if out, settles, err := w.SettleBy(t.Context(), w.NewID(), ledger.Counts{}, sent); err != nil || settles != 0 || out[0].Status != postledger.StatusSent {
			t.Fatalf("settle by an unknown worker: %+v %d %v", out, settles, err)
		}
		if v, _, err := w.WorkerByID(t.Context(), w.Worker.ID); err != nil || v.Counts != (ledger.Counts{Beats: 2, Settles: 1}) {
			t.Fatalf("row: %+v %v", v, err)
		}
	})
	// Invariant 17: a ledger that fell back under a living worker must not catch up
	// with what the worker knows before a heartbeat compares.
	t.Run("nothing is leased from a ledger that knows less than its worker", func(t *testing.T) {
		for _, known := range []ledger.Counts{{Beats: 3}, {Beats: 2, Settles: 1}} { // the rows hold 2 and 0
			w := NewWorld(t, open)
			w.Send([]string{"a@x.example"})
			w.Send([]string{"b@x.example"})
			want := ledger.Want{Key: w.Key(postledger.LaneImmediate), N: 1}
			l := w.LeaseFor(w.Worker.ID, want).Leased[0]
			c, err := w.Lease(t.Context(), w.Worker.ID, known, []ledger.Want{want})
			must(t, err)
			if len(c[0].Leased) != 0 || c[0].Beats != 0 {
				t.Fatalf("%+v: leased %+v", known, c[0])
			}
			// Its answer is still written.
			sent := ledger.Settlement{ID: l.ID, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent}
			if out, settles, err := w.SettleBy(t.Context(), w.Worker.ID, known, []ledger.Settlement{sent}); err != nil || settles != 0 || !out[0].Applied {
				t.Fatalf("%+v: settle: %+v %d %v", known, out, settles, err)
			}
			if v, _, err := w.WorkerByID(t.Context(), w.Worker.ID); err != nil || v.Counts != (ledger.Counts{Beats: 2}) {
				t.Fatalf("%+v: row: %+v %v", known, v, err)
			}
			if _, err := w.Heartbeat(t.Context(), w.Worker.ID, known); !errors.Is(err, ledger.ErrWorkerUnknown) {
				t.Fatalf("%+v: heartbeat: %v", known, err)
			}
		}
	})
	t.Run("a worker that holds a lease does not end", func(t *testing.T) {
		w := NewWorld(t, open)
		w.Send([]string{"a@x.example"})
		l := w.LeaseN(1)
		must(t, w.EndWorker(t.Context(), w.Worker.ID))
		if v, _, err := w.WorkerByID(t.Context(), w.Worker.ID); err != nil || !v.EndedAt.IsZero() {
			t.Fatalf("ended with a lease: %+v %v", v, err)
		}
		w.MustSettle(ledger.Settlement{ID: l[0].ID, Fence: 1, Mover: postledger.MoverWorker, To: postledger.StatusSent})
		must(t, w.EndWorker(t.Context(), w.Worker.ID))
		if v, _, err := w.WorkerByID(t.Context(), w.Worker.ID); err != nil || v.EndedAt.IsZero() {
			t.Fatalf("not ended: %+v %v", v, err)
		}
		if c := w.LeaseFor(w.Worker.ID, ledger.Want{Key: w.Key(postledger.LaneImmediate), N: 1}); len(c.Leased) != 0 {
			t.Error("an ended worker leased")
		}
	})
}
