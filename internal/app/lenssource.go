package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// ErrOwnLedger: lenses read the databases of applications, and never what
// Postledger itself keeps about their mail.
var ErrOwnLedger = errors.New("it is Postledger's own ledger, which is no source")

// OpenSource opens the application's database that is configured as name, and
// reads its catalogue. The caller closes it.
func OpenSource(ctx context.Context, c *config.Config, name string) (*source.Source, *catalogue.Catalogue, error) {
	dsn, options, model, err := c.Reads(name)
	if err != nil {
		return nil, nil, err
	}
	s, err := source.Open(ctx, dsn, options)
	if err != nil {
		return nil, nil, fmt.Errorf("source %s: %w", name, err)
	}
	err = notTheLedger(ctx, c, s, options)
	var read *catalogue.Catalogue
	if err == nil {
		read, err = s.Catalogue(ctx, model)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("source %s: %w", name, err), s.Close())
	}
	return s, read, nil
}

// notTheLedger compares the databases themselves: two names, logins or paths may
// lead to one.
func notTheLedger(ctx context.Context, c *config.Config, s *source.Source, options source.Options) error {
	kind, err := source.DialectOf(c.Database.Reveal())
	if err != nil || kind != s.Dialect() {
		return err
	}
	if c.Database.Embedded() {
		if _, err := os.Stat(c.Database.Path()); errors.Is(err, fs.ErrNotExist) {
			return nil // nothing is there yet that it could be
		}
	}
	ledger, err := source.Open(ctx, c.Database.Reveal(), source.Options{Connections: 1, Timeout: options.Timeout})
	if err != nil {
		return fmt.Errorf("compare with the ledger: %w", err)
	}
	defer ledger.Close()
	same, err := s.Same(ctx, ledger)
	switch {
	case err != nil:
		return fmt.Errorf("compare with the ledger: %w", err)
	case same:
		return ErrOwnLedger
	}
	return nil
}

// CheckFloors holds a source's floors against its catalogue.
func CheckFloors(floors config.Floors, read *catalogue.Catalogue) error {
	return floors.Each(func(app string, floor lens.Scope) error {
		err := floor.Check(read)
		switch {
		case err != nil && app != "":
			return fmt.Errorf("the floor of app %s does not fit: %w", app, err)
		case err != nil:
			return fmt.Errorf("the floor does not fit: %w", err)
		}
		return nil
	})
}
