package accept

import (
	"context"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// patient bounds every look at the ledger. A request may take as long as its
// files need to arrive, so it has no deadline of its own; one that waited for a
// database that does not answer would wait for ever. Accept is bounded by the
// ledger itself, which alone knows whether it may stop waiting.
type patient struct {
	Ledger
	patience time.Duration
}

// patiently calls fn with a context that ends in time.
func patiently[T any](ctx context.Context, patience time.Duration, fn func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return fn(ctx)
}

func (p patient) LookupKeys(ctx context.Context, app postledger.ID, keys, fingerprints []string) (map[int]ledger.AcceptedItem, error) {
	return patiently(ctx, p.patience, func(ctx context.Context) (map[int]ledger.AcceptedItem, error) {
		return p.Ledger.LookupKeys(ctx, app, keys, fingerprints)
	})
}

func (p patient) EffectivePolicy(ctx context.Context, app postledger.ID, profile string) (ledger.Effective, error) {
	return patiently(ctx, p.patience, func(ctx context.Context) (ledger.Effective, error) {
		return p.Ledger.EffectivePolicy(ctx, app, profile)
	})
}

func (p patient) CheckQuota(ctx context.Context, app, profile postledger.ID, limit *int64, n int64) error {
	_, err := patiently(ctx, p.patience, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.Ledger.CheckQuota(ctx, app, profile, limit, n)
	})
	return err
}

func (p patient) LoadMessages(ctx context.Context, ids []postledger.ID, maxContent int64) (map[postledger.ID]*ledger.Loaded, error) {
	return patiently(ctx, p.patience, func(ctx context.Context) (map[postledger.ID]*ledger.Loaded, error) {
		return p.Ledger.LoadMessages(ctx, ids, maxContent)
	})
}

func (p patient) DeliveriesOf(ctx context.Context, message postledger.ID) ([]postledger.Delivery, error) {
	return patiently(ctx, p.patience, func(ctx context.Context) ([]postledger.Delivery, error) {
		return p.Ledger.DeliveriesOf(ctx, message)
	})
}

func (p patient) AppendAudit(ctx context.Context, e postledger.AuditEvent) error {
	_, err := patiently(ctx, p.patience, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.Ledger.AppendAudit(ctx, e)
	})
	return err
}

func (p patient) Now(ctx context.Context) (time.Time, error) {
	return patiently(ctx, p.patience, p.Ledger.Now)
}

// patientBacklog bounds a count, and the wait for another's.
type patientBacklog struct {
	Backlog
	patience time.Duration
}

func (p patientBacklog) Waiting(ctx context.Context, profile postledger.ID, upTo int64) (int64, error) {
	return patiently(ctx, p.patience, func(ctx context.Context) (int64, error) { return p.Backlog.Waiting(ctx, profile, upTo) })
}
