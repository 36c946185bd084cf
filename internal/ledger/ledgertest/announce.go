package ledgertest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/jobs"
)

// listener makes one job of each move, and keeps the moments that it was told.
type listener struct {
	on bool
	at map[postledger.ID]time.Time
}

func (a *listener) Listening() bool { return a.on }

func (a *listener) JobsOf(moves []ledger.Move) []ledger.JobRow {
	var rows []ledger.JobRow
	for _, m := range moves {
		name := fmt.Sprint(m.ID, " ", m.AppID, " ", m.Status, " ", m.Reason, " ", m.Fence)
		a.at[m.ID] = m.At
		rows = append(rows, ledger.JobRow{
			ID: postledger.ID(jobs.DeriveID(jobs.ID(m.ID), name)), Handler: "told", Group: m.AppID.String(), Slow: true, Payload: []byte(name),
		})
	}
	return rows
}

// HeardQueue is a job queue that has each job admitted under its epoch, if it has one,
// and keeps what it is told.
type HeardQueue struct {
	Epoch             string
	Written, Doubtful []ledger.JobRow
}

// Place implements ledger.JobQueue, as all of these do.
func (q *HeardQueue) Place(rows []ledger.JobRow) {
	for i := range rows {
		rows[i].Epoch = q.Epoch
	}
}

// Wrote keeps what was written.
func (q *HeardQueue) Wrote(rows []ledger.JobRow) { q.Written = append(q.Written, rows...) }

// Unsure keeps what may have been.
func (q *HeardQueue) Unsure(rows []ledger.JobRow) { q.Doubtful = append(q.Doubtful, rows...) }

// Announce: whoever listens is told of each settlement, whichever way it is written,
// in its transaction, once. jobsOf reads the ledger's jobs in their order.
func Announce(t *testing.T, open Opener, jobsOf func(*testing.T, *ledger.Ledger) []jobs.Row) {
	listening := func(t *testing.T) (*World, *listener) {
		a := &listener{on: true, at: map[postledger.ID]time.Time{}}
		w := NewWorld(t, func(t *testing.T) *ledger.Ledger {
			l := open(t)
			l.AnnounceTo(a)
			return l
		})
		return w, a
	}
	told := func(w *World) []string {
		var out []string
		for _, r := range jobsOf(w.T, w.Ledger) {
			out = append(out, string(r.Payload))
		}
		return out
	}
	expect := func(w *World, when string, want ...string) {
		w.T.Helper()
		if got := told(w); !slices.Equal(got, want) {
			w.T.Errorf("%s: told of\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	line := func(w *World, id postledger.ID, s postledger.Status, r postledger.Reason, fence int64) string {
		return fmt.Sprint(id, " ", w.App.ID, " ", s, " ", r, " ", fence)
	}

	t.Run("every move of the table", func(t *testing.T) {
		w, a := listening(t)
		var want []string
		for _, m := range postledger.Transitions() {
			if m.To == postledger.StatusSending {
				continue // a lease
			}
			for _, by := range m.By {
				for _, way := range []string{"", "its app is known", "owned"} {
					a.on = false
					id, fence := w.in(m.From)
					a.on = true
					s := ledger.Settlement{ID: id, Fence: fence, Mover: by, To: m.To, Reason: "why"}
					switch {
					case way == "its app is known":
						s.App = w.App.ID
					case way == "owned" && m.From == postledger.StatusSending:
						s.Owner, s.Event = w.Worker.ID, &ledger.Event{Kind: "known"}
					}
					when := fmt.Sprintf("%s to %s by %s", m.From, m.To, by)
					if got := w.MustSettle(s); !got.Applied {
						t.Fatalf("%s: %+v", when, got)
					}
					if m.To.Settled() {
						want = append(want, line(w, id, m.To, "why", fence))
						w.MustSettle(s) // again, as after a COMMIT whose answer was lost
					}
					expect(w, when, want...)
				}
			}
		}
	})

	t.Run("the moment of a move", func(t *testing.T) {
		w, a := listening(t)
		var written []jobs.Row
		for _, app := range []postledger.ID{{}, w.App.ID} {
			id := w.Send([]string{"a@x.example"})[0]
			l := w.LeaseN(1)[0]
			w.MustSettle(ledger.Settlement{ID: id, App: app, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent})
			rows := jobsOf(t, w.Ledger)
			at := a.at[id]
			if at.IsZero() {
				at = rows[len(rows)-1].EnqueuedAt
			}
			// Where the app is not known, the moment is that of another statement.
			if settled := w.Row(id).SettledAt; !at.Equal(settled) && (!app.IsZero() || at.Sub(settled).Abs() > time.Second) {
				t.Errorf("told that it was at %v, and it settled at %v", at, settled)
			}
			row := rows[len(rows)-1]
			row.ID, row.Place, row.Payload, row.EnqueuedAt, row.ChangedAt = jobs.ID{}, 0, nil, time.Time{}, time.Time{}
			written = append(written, row)
		}
		if !reflect.DeepEqual(written[0], written[1]) {
			t.Errorf("two ways write\n%+v\n%+v", written[0], written[1])
		}
	})

	t.Run("a cancel of what waits, and one that was wished for", func(t *testing.T) {
		w, _ := listening(t)
		waits := w.Send([]string{"a@x.example"})[0]
		_, err := w.Cancel(t.Context(), []postledger.ID{waits}, postledger.ReasonCanceledByApp, "op")
		must(t, err)
		canceled := line(w, waits, postledger.StatusCanceled, postledger.ReasonCanceledByApp, 0)
		expect(w, "canceled", canceled)
		onWire := w.Send([]string{"b@x.example"})[0]
		l := w.LeaseN(1)[0]
		_, err = w.Cancel(t.Context(), []postledger.ID{onWire}, postledger.ReasonCanceledByOperator, "op")
		must(t, err)
		expect(w, "a wish", canceled)
		w.MustSettle(ledger.Settlement{ID: onWire, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusQueued, Charged: true})
		expect(w, "canceled from the wire", canceled, line(w, onWire, postledger.StatusCanceled, postledger.ReasonCanceledByOperator, l.Fence))
	})

	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprintf("a batch, in which some are refused and some wait again, app known: %v", known), func(t *testing.T) {
			w, _ := listening(t)
			w.Send([]string{"a@x.example", "b@x.example", "c@x.example", "d@x.example"})
			ls := w.LeaseN(4)
			var ss []ledger.Settlement
			for _, l := range ls {
				ss = append(ss, ledger.Settlement{ID: l.ID, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent, Charged: true})
				if known {
					ss[len(ss)-1].App = w.App.ID
				}
			}
			ss[1].Fence--
			ss[2].To = postledger.StatusQueued
			ss[3].To, ss[3].Reason = postledger.StatusFailed, postledger.ReasonRejectedMessage
			out, settles, err := w.SettleBy(t.Context(), w.Worker.ID, ledger.Counts{}, ss)
			must(t, err)
			if !out[0].Applied || out[1].Applied || !out[2].Applied || !out[3].Applied || settles == 0 {
				t.Fatalf("%+v, %d settles", out, settles)
			}
			expect(w, "the batch", line(w, ls[0].ID, postledger.StatusSent, "", ls[0].Fence),
				line(w, ls[3].ID, postledger.StatusFailed, postledger.ReasonRejectedMessage, ls[3].Fence))
		})
	}

	t.Run("nobody listens", func(t *testing.T) {
		w, a := listening(t)
		a.on = false
		w.in(postledger.StatusSent)
		w.in(postledger.StatusFailed)
		expect(w, "nobody")
	})

	t.Run("nobody is told of what was not written", func(t *testing.T) {
		w, _ := listening(t)
		id := w.Send([]string{"a@x.example"})[0]
		w.LeaseN(1)
		queue := &HeardQueue{}
		w.SetJobQueue(queue)
		w.MustSettle(ledger.Settlement{ID: id, Fence: 99, Mover: postledger.MoverWorker, To: postledger.StatusSent})
		w.MustSettle(ledger.Settlement{ID: id, App: w.App.ID, Fence: 99, Mover: postledger.MoverWorker, To: postledger.StatusSent})
		w.MustSettle(ledger.Settlement{ID: id, Fence: 99, Mover: postledger.MoverWorker, To: postledger.StatusFailed})
		expect(w, "refused")
		if queue.Written != nil || queue.Doubtful != nil {
			t.Errorf("the queue heard of %+v and perhaps of %+v, and nothing was written", queue.Written, queue.Doubtful)
		}
		l := w.Row(id)
		w.MustSettle(ledger.Settlement{ID: id, App: w.App.ID, Fence: l.Fence, Mover: postledger.MoverWorker, To: postledger.StatusSent})
		if len(queue.Written) != 1 || queue.Doubtful != nil {
			t.Errorf("the queue heard of %+v and perhaps of %+v", queue.Written, queue.Doubtful)
		}
	})
}
