package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/ledger"
)

// ErrNoLedger: the embedded ledger's file is not there, which most likely
// means that another one was meant.
var ErrNoLedger = errors.New("there is no ledger at this path (`postledger serve` or `postledger migrate up` makes one)")

// Access says what opening a ledger may change.
type Access int

const (
	// Existing opens a ledger whose schema must fit.
	Existing Access = iota
	// Migrated brings the schema to this binary's version first.
	Migrated
	// Unchecked opens whatever is there.
	Unchecked
)

// OpenLedger connects to the configured database. The caller closes it.
func OpenLedger(ctx context.Context, c *config.Config, a Access, log *slog.Logger) (*ledger.Ledger, error) {
	if c.Database.Embedded() && a == Existing {
		if _, err := os.Stat(c.Database.Path()); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open %s: %w", c.Database.Path(), ErrNoLedger)
		}
	}
	l, err := ledger.Open(ctx, c.Database.Reveal(), ledger.Options{
		Connections: c.DatabaseConnections, Timeout: c.DatabaseTimeout, Log: log,
	})
	if err != nil {
		return nil, err
	}
	if a == Migrated {
		err = l.Migrate(ctx)
	}
	if err == nil && a != Unchecked {
		err = l.CheckSchema(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
