package main

import (
	"errors"
	"log/slog"
	"os"
	"os/user"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/config"
	"github.com/postledger/postledger/internal/ledger"
)

// openExisting opens the configured ledger for a command that works on it
// directly. It never makes a new SQLite file.
func openExisting(e *env, cfg *config.Config, a app.Access) (*ledger.Ledger, error) {
	if a == app.Unchecked && cfg.Database.Embedded() {
		if _, err := os.Stat(cfg.Database.Path()); err != nil {
			return nil, app.ErrNoLedger
		}
	}
	// Few connections: a command must not take those that servers need.
	few := *cfg
	few.DatabaseConnections = 4
	return app.OpenLedger(e.ctx, &few, a, slog.New(slog.DiscardHandler))
}

// audit is the line a command writes about itself. Whoever may open the
// database is an operator; who that was is the system's to say.
func audit(l *ledger.Ledger, action, targetType, target string) postledger.AuditEvent {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return postledger.AuditEvent{
		ID: l.NewID(), ActorType: "shell", ActorID: name,
		Action: action, TargetType: targetType, TargetID: target, Result: "done",
	}
}

// direct runs fn on the configured ledger.
func direct(e *env, fn func(*ledger.Ledger) error) (err error) {
	cfg, err := e.cli.config()
	if err != nil {
		return err
	}
	l, err := openExisting(e, cfg, app.Existing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return fn(l)
}
