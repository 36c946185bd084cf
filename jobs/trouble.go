package jobs

import (
	"log/slog"
	"sync"
	"time"
)

// reminder is how often something is warned of that goes on failing.
const reminder = time.Minute

// trouble says of something that is tried again and again that it fails: when that
// begins, each minute while it lasts, and when it is over.
type trouble struct {
	log  *slog.Logger
	what string // "take jobs"

	mu     sync.Mutex
	since  time.Time // zero while all is well
	said   time.Time
	failed int
}

func newTrouble(log *slog.Logger, what string) *trouble { return &trouble{log: log, what: what} }

func (t *trouble) fails(err error, more ...any) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed++; t.since.IsZero() {
		t.since = now
	} else if now.Sub(t.said) < reminder {
		return
	}
	t.said = now
	args := append([]any{slog.Any("error", err)}, more...)
	if t.failed > 1 {
		args = append(args, slog.Int("times", t.failed), slog.Duration("since", now.Sub(t.since).Round(time.Second)))
	}
	t.log.Warn(t.what, args...)
}

func (t *trouble) works() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		return
	}
	t.log.Info(t.what+": works again", slog.Int("times", t.failed), slog.Duration("after", time.Since(t.since).Round(time.Millisecond)))
	t.since, t.failed = time.Time{}, 0
}
