package jobs

import (
	"context"
	"time"
)

// lease is a lease in the outbox that one process of the fleet keeps. It is
// written once in a third of its life, not at each look: on an embedded database
// that is a commit.
type lease struct {
	outbox      Outbox
	name, owner string
	life        time.Duration
	renewed     time.Time
}

// holds tells whether the lease is this process's, and takes or renews it in time.
func (l *lease) holds(ctx context.Context) (bool, error) {
	if !l.renewed.IsZero() && time.Since(l.renewed) < l.life/3 {
		return true, nil
	}
	asked := time.Now()
	_, holds, err := l.outbox.AcquireLease(ctx, l.name, l.owner, l.life)
	if err != nil {
		return false, err
	}
	if l.renewed = asked; !holds {
		l.renewed = time.Time{}
	}
	return holds, nil
}
