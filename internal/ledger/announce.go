package ledger

import (
	"context"
	"time"

	"github.com/postledger/postledger"
)

// Move is a delivery that has settled.
type Move struct {
	ID     postledger.ID
	AppID  postledger.ID
	Status postledger.Status
	Reason postledger.Reason
	Fence  int64
	// At is when it settled. It is zero where only the database knows, which then
	// writes the same moment as the job's (JobRow has none of its own).
	At time.Time
}

// Announcer says who is told of what settles. Its methods are called with rows
// locked, and more than once for a transaction that is repeated: they must not wait,
// and know what they say.
type Announcer interface {
	// Listening tells whether anybody is told of anything. While nobody is,
	// settling costs what it does without an announcer.
	Listening() bool
	// JobsOf are the jobs that follow from moves. They are written in the
	// transaction that settles: neither exists without the other.
	JobsOf(moves []Move) []JobRow
}

// AnnounceTo sets who is asked. It is called before anything settles.
func (l *Ledger) AnnounceTo(a Announcer) { l.announcer = a }

func (l *Ledger) listening() bool { return l.announcer != nil && l.announcer.Listening() }

// announceChanges adds the jobs that follow from changes to their transaction.
func (l *Ledger) announceChanges(ctx context.Context, t *tx, changes []change, now int64) error {
	if !l.listening() {
		return nil
	}
	moves := make([]Move, 0, len(changes))
	for i := range changes {
		c := &changes[i]
		if c.to.Settled() {
			moves = append(moves, Move{c.row.id, c.row.app, c.to, c.reason, c.row.fence, fromMicros(now)})
		}
	}
	return t.queueJobs(ctx, l.announcer.JobsOf(moves))
}

// announceSent adds the jobs that follow from what is settled by the statement that
// has just been queued, for settlements that do not say whose they are: only what the
// statement did tells who hears of it, and that takes a round trip of its own.
func (l *Ledger) announceSent(ctx context.Context, t *tx, plain []*Settlement, settled func(postledger.ID) Settled) error {
	t.queueNow()
	if err := t.flush(ctx); err != nil {
		return err
	}
	moves := make([]Move, 0, len(plain))
	for _, s := range plain {
		if o := settled(s.ID); o.Applied {
			moves = append(moves, Move{s.ID, o.AppID, o.Status, o.Reason, s.Fence, fromMicros(t.us)})
		}
	}
	return t.queueJobs(ctx, l.announcer.JobsOf(moves))
}

// sentJobs are the jobs that follow if all of plain are settled, each with the
// delivery that it follows from; false when a settlement does not say whose it is.
func (l *Ledger) sentJobs(plain []*Settlement) (rows []JobRow, of []postledger.ID, known bool) {
	for _, s := range plain {
		if s.App.IsZero() {
			return nil, nil, false
		}
		some := l.announcer.JobsOf([]Move{{ID: s.ID, AppID: s.App, Status: s.To, Reason: s.Reason, Fence: s.Fence}})
		rows = append(rows, some...)
		for range some {
			of = append(of, s.ID)
		}
	}
	return rows, of, true
}
