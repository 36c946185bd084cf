package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/audience"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// catalogueAge is how old a catalogue may be when nothing is wrong with what was
// checked against it; freshAge, when something is.
const (
	catalogueAge = time.Minute
	freshAge     = time.Second
)

// Sources are the applications' databases of a running process. Each is opened
// when it is first asked for: one that is down keeps nobody's mail waiting.
type Sources struct {
	config *config.Config
	log    *slog.Logger
	byName map[string]*openSource
}

// openSource is one source. Its turn is taken by who opens it or reads its
// catalogue, so that many who ask at once do it once.
type openSource struct {
	turn   chan struct{}
	floors config.Floors
	dsn    string
	source *source.Source
	read   *catalogue.Catalogue
	at     time.Time
	// failed is why it could not be opened or read last, and failedAt when that was found.
	failed   error
	failedAt time.Time
	// retired are what its DSN led to before it was changed. Whoever reads from one may
	// finish.
	retired []retiredSource
}

type retiredSource struct {
	source *source.Source
	at     time.Time
}

// NewSources reads the files that the configuration names, and connects to
// nothing. A floor that cannot be read is no floor: it is an error here.
func NewSources(c *config.Config, log *slog.Logger) (*Sources, error) {
	s := &Sources{config: c, log: log, byName: map[string]*openSource{}}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		_, _, _, err := c.Reads(name)
		floors, floorErr := c.Floors(name)
		errs = append(errs, err, floorErr)
		s.byName[name] = &openSource{turn: make(chan struct{}, 1), floors: floors}
	}
	return s, errors.Join(errs...)
}

// Open implements audience.Sources.
func (s *Sources) Open(ctx context.Context, name string, app postledger.App, fresh bool) (audience.Opened, error) {
	o, found := s.byName[name]
	settings := s.config.Sources[name]
	if !found || !settings.Allows(app) {
		return audience.Opened{}, audience.ErrSourceUnknown
	}
	floor, err := o.floors.For(app)
	if err != nil {
		return audience.Opened{}, err
	}
	opened, err := o.ready(ctx, s.config, name, fresh)
	opened.Floor = floor
	return opened, err
}

// ready gives the source, opened, with a catalogue that is new enough. It waits for
// its turn. Whoever waited while it was found that the source does not answer hears that,
// and does not ask again: each would take as long.
func (o *openSource) ready(ctx context.Context, c *config.Config, name string, fresh bool) (audience.Opened, error) {
	asked := time.Now()
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return audience.Opened{}, fmt.Errorf("wait for source %s: %w", name, ctx.Err())
	}
	if o.failed != nil && o.failedAt.After(asked) {
		return audience.Opened{}, o.failed
	}
	err := o.renew(ctx, c, name, fresh)
	o.failed, o.failedAt = nil, time.Now()
	if err != nil {
		if ctx.Err() == nil { // else it says nothing about the source
			o.failed = err
		}
		return audience.Opened{}, err
	}
	return audience.Opened{Source: o.source, Catalogue: o.read}, nil
}

// renew opens the source and reads its catalogue where that is due. The DSN's file and the
// model are read anew too, so that a password can be changed while the server runs.
func (o *openSource) renew(ctx context.Context, c *config.Config, name string, fresh bool) error {
	age := time.Since(o.at)
	if o.source != nil && age < catalogueAge && (!fresh || age < freshAge) {
		return nil
	}
	dsn, _, model, err := c.Reads(name)
	if err != nil {
		return err
	}
	if o.source == nil || dsn != o.dsn {
		return o.open(ctx, c, name, dsn)
	}
	read, err := o.source.Catalogue(ctx, model)
	if err == nil {
		err = o.fits(read)
	}
	if err != nil {
		return fmt.Errorf("source %s: %w", name, err)
	}
	o.read, o.at = read, time.Now()
	o.closeRetired(c)
	return nil
}

// open opens what the DSN leads to, and retires what it led to before.
func (o *openSource) open(ctx context.Context, c *config.Config, name, dsn string) error {
	opened, read, err := OpenSource(ctx, c, name)
	if err != nil {
		return err
	}
	if err := o.fits(read); err != nil {
		return errors.Join(fmt.Errorf("source %s: %w", name, err), opened.Close())
	}
	if o.source != nil {
		o.retired = append(o.retired, retiredSource{o.source, time.Now()})
	}
	o.dsn, o.source, o.read, o.at = dsn, opened, read, time.Now()
	o.closeRetired(c)
	return nil
}

// closeRetired closes what nobody can be reading from any more: no count is longer than
// count_timeout.
func (o *openSource) closeRetired(c *config.Config) {
	o.retired = slices.DeleteFunc(o.retired, func(r retiredSource) bool {
		over := time.Since(r.at) > c.Audiences.CountTimeout
		if over {
			_ = r.source.Close() // that says nothing about the source in use
		}
		return over
	})
}

// fits holds every floor against a catalogue: a floor on a table that was renamed
// would let all rows of the new one through.
func (o *openSource) fits(read *catalogue.Catalogue) error {
	return CheckFloors(o.floors, read)
}

// Try opens every source, and logs those that cannot be used.
func (s *Sources) Try(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		if _, err := s.byName[name].ready(ctx, s.config, name, false); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "a source cannot be used", slog.String("source", name), slog.Any("error", err))
		}
	}
}

// Close closes what was opened. Nobody asks any more.
func (s *Sources) Close() error {
	var errs []error
	for _, o := range s.byName {
		if o.source != nil {
			errs = append(errs, o.source.Close())
		}
		for _, r := range o.retired {
			errs = append(errs, r.source.Close())
		}
	}
	return errors.Join(errs...)
}
