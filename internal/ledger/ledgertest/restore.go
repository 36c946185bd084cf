package ledgertest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Restore: invariant 17, the moment of a marking and what it knows by journals.
func Restore(t *testing.T, open Opener, exec Exec) {
	begin := func(t *testing.T, w *World, at time.Time, proof ...ledger.Worker) time.Time {
		t.Helper()
		moment, err := w.BeginRestore(t.Context(), at, proof)
		must(t, err)
		s, err := w.ReadState(t.Context())
		must(t, err)
		if !s.Restoring || !s.RestoredAt.Equal(moment) {
			t.Fatalf("moment %v, state %+v", moment, s)
		}
		return moment
	}
	before := func(t *testing.T, w *World, at time.Time, want ...postledger.ID) {
		t.Helper()
		ids, err := w.OpenBefore(t.Context(), at, postledger.ID{}, 100)
		must(t, err)
		if !slices.Equal(ids, want) {
			t.Errorf("to be marked: %v, want %v", ids, want)
		}
	}
	end := func(t *testing.T, w *World, moment, want time.Time) {
		t.Helper()
		later, err := w.EndRestore(t.Context(), moment)
		must(t, err)
		s, err := w.ReadState(t.Context())
		must(t, err)
		if !later.Equal(want) || s.Restoring != !want.IsZero() {
			t.Errorf("later moment %v, want %v, state %+v", later, want, s)
		}
	}

	t.Run("what is accepted after the moment is not of it", func(t *testing.T) {
		w := NewWorld(t, open)
		leased := w.Send([]string{"a@x.example"})[0]
		w.LeaseN(1)
		queued := w.Send([]string{"a@x.example"})[0]
		moment := begin(t, w, time.Time{})
		w.Send([]string{"new@x.example"})
		before(t, w, moment, leased, queued)
		// It goes on with what it began with, here as after a crash.
		s, err := w.ReadState(t.Context())
		must(t, err)
		before(t, w, s.RestoredAt, leased, queued)
		end(t, w, moment, time.Time{})
		if s, err = w.ReadState(t.Context()); err != nil || !s.RestoredAt.Equal(moment) {
			t.Errorf("then %+v %v", s, err)
		}
	})
	t.Run("an earlier moment leaves out what came later", func(t *testing.T) {
		w := NewWorld(t, open)
		old := w.Send([]string{"a@x.example"})[0]
		at := w.Row(old).CreatedAt
		for !w.Row(w.Send([]string{"b@x.example"})[0]).CreatedAt.After(at) {
			t.Log("two accepts in one microsecond")
		}
		moment := begin(t, w, at)
		if !moment.Equal(at) {
			t.Fatalf("moment %v, want %v", moment, at)
		}
		before(t, w, moment, old)
	})
	t.Run("no clock leaves out what is open", func(t *testing.T) {
		w := NewWorld(t, open)
		id := w.Send([]string{"a@x.example"})[0]
		now, err := w.Now(t.Context())
		must(t, err)
		// The machine that accepted it was an hour ahead.
		ahead := now.Add(time.Hour).Truncate(time.Microsecond)
		exec(t, w.Ledger, `UPDATE deliveries SET created_at = ? WHERE id = ?`, ahead.UnixMicro(), id)
		if moment := begin(t, w, time.Time{}); !moment.Equal(ahead) {
			t.Errorf("moment %v, want %v", moment, ahead)
		}
		before(t, w, ahead, id)
	})
	t.Run("a marking under way covers the later moment", func(t *testing.T) {
		w := NewWorld(t, open)
		first := begin(t, w, time.Time{})
		if again := begin(t, w, first.Add(-time.Hour)); !again.Equal(first) {
			t.Errorf("moved back from %v to %v", first, again)
		}
		second := begin(t, w, first.Add(time.Second))
		if !second.After(first) {
			t.Fatalf("stays at %v", second)
		}
		end(t, w, first, second)
		end(t, w, second, time.Time{})
		end(t, w, first, time.Time{}) // the slower of two
	})
	t.Run("a moment before all time can be ended", func(t *testing.T) {
		w := NewWorld(t, open)
		end(t, w, begin(t, w, time.Unix(0, 0)), time.Time{})
	})
	t.Run("what was scheduled is told from what is due", func(t *testing.T) {
		w := NewWorld(t, open)
		now, err := w.Now(t.Context())
		must(t, err)
		const wait = 48 * time.Hour
		ids := w.Send([]string{"a@x.example", "b@x.example"}, WithSendAt(now.Add(wait)))
		ids = append(ids, w.Send([]string{"a@x.example"}, WithSendAt(now.Add(-wait)))...)
		ids = append(ids, w.Send([]string{"a@x.example"})...)
		got, err := w.NotYetDue(t.Context(), append(ids, w.NewID()))
		must(t, err)
		if len(got) != 2 {
			t.Fatalf("ahead: %v, want %v", got, ids[:2])
		}
		for _, id := range ids[:2] {
			if d := got[id]; d > wait || d < wait-time.Minute {
				t.Errorf("%v until then, want %v", d, wait)
			}
		}
		none, err := w.NotYetDue(t.Context(), nil)
		must(t, err)
		if len(none) != 0 {
			t.Errorf("of nothing: %v", none)
		}
	})
	t.Run("proof is known from then on", func(t *testing.T) {
		w := NewWorld(t, open)
		missing := w.NewID()
		ahead := w.StartNewWorker()
		begin(
			t, w, time.Time{},
			ledger.Worker{ID: missing, Host: "h", BootID: "b", Counts: ledger.Counts{Beats: 40}},
			ledger.Worker{ID: ahead.ID, Host: "h", BootID: "b", Counts: ledger.Counts{Beats: 1, Settles: 50}},
			ledger.Worker{ID: w.Worker.ID, Host: "h", BootID: "b", Counts: ledger.Counts{Beats: 1}},
		)
		for id, want := range map[postledger.ID]ledger.Counts{missing: {Beats: 40}, ahead.ID: {Beats: 1, Settles: 50}, w.Worker.ID: {Beats: 1}} {
			v, known, err := w.WorkerByID(t.Context(), id)
			must(t, err)
			if !known || v.Counts != want || v.EndedAt.IsZero() != (id == w.Worker.ID) {
				t.Errorf("row %+v, known %v, want %+v", v, known, want)
			}
		}
		for id, last := range map[postledger.ID]ledger.Counts{missing: {Beats: 40}, ahead.ID: {Beats: 1, Settles: 50}} {
			if _, err := w.Heartbeat(t.Context(), id, last); !errors.Is(err, ledger.ErrWorkerUnknown) {
				t.Errorf("a process of another future goes on: %v", err)
			}
		}
	})
}
