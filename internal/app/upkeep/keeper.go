package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/ledger"
)

// Ledger is what upkeep asks of the ledger.
type Ledger interface {
	Now(ctx context.Context) (time.Time, error)
	Retention(ctx context.Context) (ledger.RetentionSettings, error)
	Lag(ctx context.Context, r ledger.RetentionSettings) (ledger.RetentionLag, error)
	PurgeContent(ctx context.Context, before time.Time, after postledger.ID, limit int) (ledger.Purged, error)
	PurgeRecords(ctx context.Context, before time.Time, after postledger.ID, limit int) (ledger.Purged, error)
	PurgeKeys(ctx context.Context, before time.Time, after ledger.KeyMark, limit int) (removed int, next ledger.KeyMark, done bool, err error)
	PurgeWebhookAttempts(ctx context.Context, before time.Time, limit int) (int, error)
	PurgeAudit(ctx context.Context, before time.Time, limit int) (int, error)
	TrashBlobs(ctx context.Context, keys []string, due time.Time) error
	TrashDue(ctx context.Context, limit int) ([]string, error)
	ForgetTrash(ctx context.Context, keys []string) error
	ReferencedBlobs(ctx context.Context, keys []string) (map[string]bool, error)
}

// Keeper does the upkeep of one ledger and its blob store.
type Keeper struct {
	Ledger Ledger
	Blobs  blob.Store
	Log    *slog.Logger
	// Lag hears after each pass how far retention is behind.
	Lag func(time.Duration)
}

// step bounds one transaction: rows locked, and the time others wait for them.
const step = 1000

// Summary is what one pass removed, and what it had to leave.
type Summary struct {
	Contents        int `json:"contents"`
	Messages        int `json:"messages"`
	Deliveries      int `json:"deliveries"`
	Keys            int `json:"keys"`
	Audit           int `json:"audit"`
	Attempts        int `json:"webhook_attempts"`
	Blobs           int `json:"blobs"`
	Orphans         int `json:"orphans"`
	Uploads         int `json:"uploads"`
	KeptOpen        int `json:"kept_open"`
	KeptUnconfirmed int `json:"kept_unconfirmed"`
}

// Pass does all there is to do now.
func (k *Keeper) Pass(ctx context.Context) (Summary, error) {
	var s Summary
	r, err := k.Ledger.Retention(ctx)
	if err != nil {
		return s, err
	}
	now, err := k.Ledger.Now(ctx)
	if err != nil {
		return s, err
	}
	before := func(days int) time.Time { return now.Add(-time.Duration(days) * 24 * time.Hour) }
	// What needs the blob store stands last, and none waits for another: a store
	// that is gone must not keep rows or hide how far retention is behind.
	var faults []error
	for _, part := range []func() error{
		func() error { return k.contents(ctx, before(r.ContentDays), &s) },
		func() error { return k.records(ctx, before(r.RecordDays), &s) },
		func() error { return k.keys(ctx, before(r.KeyDays), &s) },
		func() error { return k.audit(ctx, before(r.AuditDays), &s) },
		func() error { return k.attempts(ctx, before(attemptDays), &s) },
		func() error { return k.orphans(ctx, now, &s) },
		func() error { return k.trash(ctx, &s) },
		func() error { return k.uploads(ctx, now, &s) },
	} {
		if ctx.Err() == nil {
			faults = append(faults, part())
		}
	}
	if k.Lag != nil {
		lag, err := k.Ledger.Lag(ctx, r)
		if err == nil {
			k.Lag(max(lag.Content, lag.Records))
		}
		faults = append(faults, err)
	}
	return s, errors.Join(append(faults, ctx.Err())...)
}

func (k *Keeper) contents(ctx context.Context, before time.Time, s *Summary) error {
	return walk(ctx, before, k.Ledger.PurgeContent, func(p *ledger.Purged) { s.Contents += p.Messages })
}

func (k *Keeper) records(ctx context.Context, before time.Time, s *Summary) error {
	return walk(ctx, before, k.Ledger.PurgeRecords, func(p *ledger.Purged) {
		s.Messages += p.Messages
		s.Deliveries += p.Deliveries
		s.KeptOpen += p.KeptOpen
		s.KeptUnconfirmed += p.KeptUnconfirmed
	})
}

func walk(ctx context.Context, before time.Time, purge func(context.Context, time.Time, postledger.ID, int) (ledger.Purged, error), count func(*ledger.Purged)) error {
	var after postledger.ID
	for {
		p, err := purge(ctx, before, after, step)
		if err != nil {
			return err
		}
		count(&p)
		if p.Done {
			return nil
		}
		after = p.Next
	}
}

func (k *Keeper) keys(ctx context.Context, before time.Time, s *Summary) error {
	var after ledger.KeyMark
	for {
		n, next, done, err := k.Ledger.PurgeKeys(ctx, before, after, step)
		if err != nil {
			return err
		}
		s.Keys += n
		if done {
			return nil
		}
		after = next
	}
}

func (k *Keeper) audit(ctx context.Context, before time.Time, s *Summary) error {
	for {
		n, err := k.Ledger.PurgeAudit(ctx, before, step)
		if err != nil {
			return err
		}
		s.Audit += n
		if n < step {
			return nil
		}
	}
}

// attemptDays is how long the tries of webhooks are kept.
const attemptDays = 30

func (k *Keeper) attempts(ctx context.Context, before time.Time, s *Summary) error {
	for {
		n, err := k.Ledger.PurgeWebhookAttempts(ctx, before, step)
		if err != nil {
			return err
		}
		s.Attempts += n
		if n < step {
			return nil
		}
	}
}

// orphans notes blobs that are old and that no message refers to.
func (k *Keeper) orphans(ctx context.Context, now time.Time, s *Summary) error {
	after := ""
	for {
		page, err := k.Blobs.List(ctx, "", after, step)
		if err != nil {
			return fmt.Errorf("look for orphans: %w", err)
		}
		var old []string
		for _, e := range page {
			if now.Sub(e.Modified) > ledger.OrphanAge {
				old = append(old, e.Key)
			}
		}
		kept, err := k.Ledger.ReferencedBlobs(ctx, old)
		if err != nil {
			return err
		}
		var orphans []string
		for _, key := range old {
			if !kept[key] {
				orphans = append(orphans, key)
			}
		}
		if len(orphans) > 0 {
			if err := k.Ledger.TrashBlobs(ctx, orphans, now); err != nil {
				return err
			}
			s.Orphans += len(orphans)
		}
		if len(page) < step {
			return nil
		}
		after = page[len(page)-1].Key
	}
}

// uploads removes what interrupted uploads left. One that is as old as an
// orphan has no process that works on it.
func (k *Keeper) uploads(ctx context.Context, now time.Time, s *Summary) error {
	n, err := k.Blobs.Sweep(ctx, now.Add(-ledger.OrphanAge))
	s.Uploads += n
	if err != nil {
		return fmt.Errorf("remove interrupted uploads: %w", err)
	}
	return nil
}

// trash deletes noted blobs, and then the notes.
func (k *Keeper) trash(ctx context.Context, s *Summary) error {
	for {
		due, err := k.Ledger.TrashDue(ctx, step)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, key := range due {
			if err := k.Blobs.Delete(ctx, key); err != nil {
				return fmt.Errorf("delete blob: %w", err)
			}
		}
		if err := k.Ledger.ForgetTrash(ctx, due); err != nil {
			return err
		}
		s.Blobs += len(due)
	}
}

// Every is how often Run makes a pass.
const Every = 15 * time.Minute

// Run makes a pass now and then until ctx ends. Failures are logged, and made
// good by a later pass.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		s, err := k.Pass(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			k.Log.Error("retention failed and will be repeated", slog.Any("error", err))
		case s != Summary{KeptOpen: s.KeptOpen, KeptUnconfirmed: s.KeptUnconfirmed}:
			k.Log.Info("retention", slog.Int("contents", s.Contents), slog.Int("messages", s.Messages),
				slog.Int("deliveries", s.Deliveries), slog.Int("keys", s.Keys), slog.Int("audit", s.Audit), slog.Int("webhook_attempts", s.Attempts),
				slog.Int("blobs", s.Blobs), slog.Int("orphans", s.Orphans), slog.Int("uploads", s.Uploads))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
