package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/api"
	"github.com/postledger/postledger/internal/app/hop"
	"github.com/postledger/postledger/internal/deliver/health"
	"github.com/postledger/postledger/internal/settle"
)

// makeAPI makes what the public listener answers.
func (a *App) makeAPI() error {
	h, err := api.New(api.Config{
		Ledger: apiLedger{a.ledger, a}, Acceptor: a.accept, Operator: settle.NewOperator(a.ledger, a.worker.Wake),
		Audiences: a.audiences, Waiter: waiter{a}, Profiles: profiles{a}, Webhooks: a.webhooks, Sandbox: a.hops.Kept(), Readiness: a.ready, Jobs: a.queue,
		Changed: a.worker.Reload, Source: sourceOf(a.config.TrustedProxies),
		KeyRate: float64(a.config.Limits.KeyRate), KeyBurst: a.config.Limits.KeyBurst,
		Timeout: a.config.DatabaseTimeout, Log: a.log,
	})
	if err != nil {
		return fmt.Errorf("make API: %w", err)
	}
	document, err := api.OpenAPI()
	if err != nil {
		return fmt.Errorf("make API: %w", err)
	}
	// The API hands its own copy of a request to its mux, so that the route it
	// took is looked up beside it.
	if a.api, err = a.metrics.HTTP(h, document); err != nil {
		return fmt.Errorf("make API: %w", err)
	}
	return nil
}

// waiter counts who waits.
type waiter struct{ app *App }

func (w waiter) Wait(ctx context.Context, message postledger.ID) error {
	defer w.app.metrics.Waits()()
	return w.app.waiters.Wait(ctx, message)
}

// profiles is what the API asks about profiles.
type profiles struct{ app *App }

func (p profiles) Seal(was, changed postledger.Profile, s api.ProfileSecrets) ([]byte, error) {
	sealed, err := p.app.hops.Seal(was, changed, hop.Change(s))
	return sealed, profileFault(err)
}

func (p profiles) Check(profile postledger.Profile) error {
	return profileFault(p.app.hops.Check(profile))
}

func (profiles) Has(p *postledger.Profile) (password, dkimKey bool) { return hop.Has(p) }

func (p profiles) Health(profile postledger.ID) (health.Snapshot, bool) {
	return p.app.worker.Health(profile)
}

func profileFault(err error) error {
	var fault *hop.FieldError
	if errors.As(err, &fault) {
		return &api.ProfileError{Field: fault.Field, Rule: fault.Rule}
	}
	return err
}
