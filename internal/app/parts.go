package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/app/hop"
	"github.com/postledger/postledger/internal/app/upkeep"
	"github.com/postledger/postledger/internal/audience"
	"github.com/postledger/postledger/internal/deliver"
	"github.com/postledger/postledger/internal/transport/sandbox"
)

// openStores opens the ledger and the blob store, and claims the former.
func (a *App) openStores(ctx context.Context) error {
	c := &a.config
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	access := Existing
	if c.Database.Embedded() {
		lock, err := LockSQLite(c.Database.Path())
		if err != nil {
			return err
		}
		a.lock = lock
		a.onUndo(lock.Release)
		access = Migrated
	} else if a.o.Migrate {
		access = Migrated
	}
	l, err := OpenLedger(ctx, c, access, a.log)
	if err != nil {
		return err
	}
	a.ledger = l
	a.onUndo(l.Close)
	if a.blobs, err = OpenBlobs(c, Migrated, a.o.Version, l); err != nil {
		return err
	}
	a.onUndo(a.blobs.Close)
	return a.claimBlobs(ctx)
}

// makeHops reads the encryption keys and makes what makes transports.
func (a *App) makeHops(ctx context.Context) error {
	made, err := a.config.CreateKey()
	if err != nil {
		return err
	}
	if made {
		a.log.Info("made an encryption key: back it up apart from the ledger", slog.String("path", a.config.KeyFile()))
	}
	ring, err := a.config.Keyring()
	if err != nil {
		return err
	}
	a.ring = ring
	kept, err := sandbox.New(sandbox.Config{})
	if err != nil {
		return fmt.Errorf("make sandbox: %w", err)
	}
	a.onUndo(kept.Close)
	a.hops = hop.New(ring, kept, a.log)
	if a.o.killable {
		a.hops.KillAt(a.o.Kill)
	}
	profiles, err := a.ledger.Profiles(ctx)
	if err != nil {
		return err
	}
	for i := range profiles {
		if err := a.checkDefault(&profiles[i]); err != nil {
			return err
		}
	}
	return nil
}

// makeSteps makes the worker and the services around it.
func (a *App) makeSteps() error {
	c := &a.config
	a.waiters = accept.NewWaiters(a.ledger, a.log)
	a.onUndo(func() error { a.waiters.Close(); return nil })
	var err error
	a.worker, err = deliver.New(deliver.Config{
		Ledger: a.ledger, Hop: a.hops.Make, Pause: a.pauseByAlarm, Open: a.blobs.Open,
		OnSettled:  func(ids []postledger.ID) { a.waiters.Notify(ids...) },
		JournalDir: c.JournalDir, Host: host(), Version: a.o.Version, MemoryBudget: int64(c.MemoryBudget),
		Timeout: c.DatabaseTimeout, Heartbeat: c.Timings.Heartbeat, StaleAfter: c.Timings.StaleAfter, LostAfter: c.Timings.LostAfter,
		PollImmediate: c.Timings.PollImmediate, PollBulk: c.Timings.PollBulk, Recovery: c.Timings.Recovery,
		Log: a.log, Observer: a.metrics, Kill: a.o.Kill,
	})
	if err != nil {
		return fmt.Errorf("make worker: %w", err)
	}
	a.accept = accept.New(accept.Config{
		Ledger: acceptLedger{a.ledger, a.metrics, &a.refusals, a.o.Kill}, Blobs: killBlobs{a.blobs, a.o.Kill},
		Backlog: accept.NewEstimate(a.ledger, nil), Capabilities: a.hops.Capabilities,
		MaxWaiting: c.MaxWaiting, Wake: a.worker.Wake, Timeout: c.DatabaseTimeout, Log: a.log,
	})
	if a.sources, err = NewSources(c, a.log); err != nil {
		return fmt.Errorf("read what the configuration says of sources: %w", err)
	}
	a.onUndo(a.sources.Close)
	a.audiences = audience.New(audience.Config{
		Ledger: a.ledger, Sources: a.sources, Dir: filepath.Join(c.DataDir, "counts"),
		Timeout: c.Audiences.CountTimeout, Counts: c.Audiences.Counts, Observer: a.metrics, Log: a.log,
	})
	a.keeper = &upkeep.Keeper{Ledger: a.ledger, Blobs: a.blobs, Log: a.log, Lag: a.metrics.RetentionLag}
	a.ready = &readiness{checks: []check{
		{"ledger", a.ledger.Ping},
		{"attachments", a.blobs.Check},
		{"accepting", a.refusals.ready},
		{"worker", a.workerReady},
	}, notes: []note{
		{"jobs", a.queueReady},
	}}
	return nil
}

// pauseByAlarm records that the next hop refused a profile's login or
// configuration.
func (a *App) pauseByAlarm(ctx context.Context, profile postledger.ID, alarm string) error {
	return a.ledger.PauseProfile(ctx, profile, "refused by the next hop", alarm, postledger.AuditEvent{
		ID: a.ledger.NewID(), ActorType: "worker", ActorID: a.worker.ID().String(),
		Action: "profile.pause", TargetType: "profile", TargetID: profile.String(), Result: "done",
	})
}
