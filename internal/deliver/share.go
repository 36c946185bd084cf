package deliver

import (
	"log/slog"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/pace"
)

// paceOf is this worker's part of a profile's pace: the hop's limit is for all
// processes together, so each living one takes an equal part, rounded down and
// at least one a minute. Worker.mu is held.
//
// Who lives is what recovery's look said last, so a worker that starts or is
// lost counts a look later (LostAfter/4); the one that starts has looked
// before it leases. Parts that others do not use are lost to the profile: an
// exchange of tokens would be another lock on every lease.
func (w *Worker) paceOf(p postledger.Profile) pace.Config {
	per := p.Config.PacePerMinute
	if per > 0 {
		per = max(1, per/w.living)
	}
	return pace.Config{PerMinute: per}
}

// share takes note of how many workers live, and divides anew.
func (w *Worker) share(living int) {
	if w.c.Ledger.SQLite() {
		living = 1 // what else is listed cannot be alive
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if living == w.living {
		return
	}
	w.living = living
	now := time.Now()
	for _, l := range w.lineups {
		if err := l.pace.Configure(now, w.paceOf(l.profile)); err != nil {
			w.c.Log.Error("profile's pace", slog.String("profile", l.profile.Name), slog.Any("error", err))
		}
	}
}

// Rate is the recipients a minute that this worker sends a profile at now; 0
// means no bound.
func (w *Worker) Rate(profile postledger.ID) (float64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lineups[profile]
	if l == nil {
		return 0, false
	}
	return l.pace.Rate(), true
}
