package audience

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// Sources opens the databases of applications.
type Sources interface {
	// Open gives the source called name as the app may use it, with a catalogue
	// that is read anew when fresh is set. ErrSourceUnknown stands for one that
	// is not configured or not for this app; any other error means that it cannot
	// be used now.
	Open(ctx context.Context, name string, app postledger.App, fresh bool) (Opened, error)
}

// Opened is a source as one app sees it.
type Opened struct {
	Source    *source.Source
	Catalogue *catalogue.Catalogue
	// Floor is and-ed to every lens, and was found good for the catalogue.
	Floor lens.Scope
}

// Ledger says which addresses an app does not send to.
type Ledger interface {
	Suppressed(ctx context.Context, addresses []ledger.AppAddress) (map[ledger.AppAddress]string, error)
}

// Config is what a service works with. The zero values of all but the first two have
// defaults.
type Config struct {
	Ledger  Ledger
	Sources Sources
	// Dir is for what a large count writes down; it is made when it is needed.
	// Files in it are unlinked while they are open: a crash leaves none.
	Dir string
	// Timeout ends a count: 10 minutes. Counts bounds those that run at one time
	// in this process: 2. One app has at most half of them, rounded up.
	Timeout time.Duration
	Counts  int
	// Now is the clock of relative times.
	Now      func() time.Time
	Observer Observer
	Log      *slog.Logger
}

// Service checks, counts and shows audiences. It is safe for concurrent use, and
// starts nothing of its own.
type Service struct {
	Config
	slots  slots           // of counts
	looks  slots           // of what does not count
	ending context.Context //nolint:containedctx // of the process: it ends every count
	end    context.CancelFunc
}

// New makes a service.
func New(c Config) *Service {
	if c.Dir == "" {
		c.Dir = os.TempDir()
	}
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Minute
	}
	if c.Counts <= 0 {
		c.Counts = 2
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{Config: c}
	s.slots = slots{most: c.Counts, each: (c.Counts + 1) / 2, of: map[postledger.ID]int{}}
	s.looks = slots{most: looks, each: looksOfApp, of: map[postledger.ID]int{}}
	s.ending, s.end = context.WithCancel(context.Background())
	return s
}

// Stop ends what counts with ErrStopped, and whatever begins after it. It does not
// wait: callers do.
func (s *Service) Stop() { s.end() }

// open finds the source of a definition.
func (s *Service) open(ctx context.Context, app postledger.App, name string, fresh bool) (Opened, error) {
	if name == "" {
		return Opened{}, invalid("source", RuleRequired, "is missing")
	}
	o, err := s.Sources.Open(ctx, name, app, fresh)
	switch {
	case errors.Is(err, ErrSourceUnknown):
		return o, invalid("source", RuleUnknown, "is no source that this app may use")
	case err != nil:
		return o, s.unavailable(ctx, name, err)
	}
	return o, nil
}

// unavailable is the error of a source that does not answer as it should. What a
// database says may name what the caller must not see: it goes to the log.
func (s *Service) unavailable(ctx context.Context, name string, err error) error {
	if ctx.Err() == nil {
		s.Log.WarnContext(ctx, "a source cannot be read", slog.String("source", name), slog.Any("error", err))
	}
	return &UnavailableError{name, err}
}

// slots bound what runs at one time, of all apps and of each.
type slots struct {
	most, each int
	mu         sync.Mutex
	all        int
	of         map[postledger.ID]int
}

// take gives a slot and what returns it, or ErrBusy at once: who waits would hold
// a connection and time out.
func (s *slots) take(app postledger.ID) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= s.most || s.of[app] >= s.each {
		return nil, fmt.Errorf("preview: %w", ErrBusy)
	}
	s.all++
	s.of[app]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.of[app]--; s.of[app] == 0 {
			delete(s.of, app)
		}
	}, nil
}
