package api

import (
	"context"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/health"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/internal/settle"
	"github.com/postledger/postledger/internal/transport/sandbox"
	"github.com/postledger/postledger/internal/webhook"
)

// Operator writes decisions about deliveries.
type Operator interface {
	Cancel(ctx context.Context, f ledger.Filter, reason postledger.Reason, actor string) (settle.Decided, error)
	ResolveSent(ctx context.Context, f ledger.Filter, actor string) (settle.Decided, error)
	Resend(ctx context.Context, f ledger.Filter, actor string) (settle.Decided, error)
}

// ProfileSecrets is what a request says about a profile's secrets: nil keeps
// what is there, an empty value removes it.
type ProfileSecrets struct {
	Password *secret.Value
	DKIMKey  *secret.Value
}

// Profiles knows what a profile's configuration means.
type Profiles interface {
	// Seal makes the sealed secrets of a profile's new configuration. The
	// profile has its final id; was is its zero value for a new one. A fault in
	// what was given is a *ProfileError.
	Seal(was, changed postledger.Profile, s ProfileSecrets) ([]byte, error)
	// Check reports what is wrong with a configuration and its sealed secrets,
	// as a *ProfileError where a field is at fault.
	Check(p postledger.Profile) error
	// Has says which secrets a profile has, without opening them.
	Has(p *postledger.Profile) (password, dkimKey bool)
	// Health is the state of the profile's next hop in this process.
	Health(profile postledger.ID) (health.Snapshot, bool)
}

// Webhooks makes endpoints' secrets, and sends.
type Webhooks interface {
	// CheckURL returns a URL's usual form; a *webhook.URLError says which rule it
	// breaks.
	CheckURL(text string) (string, error)
	// NewSecret makes a secret, sealed for the endpoint's row and host, and as it is
	// shown once.
	NewSecret(endpoint postledger.ID, url string) (sealed []byte, shown string, err error)
	// Changed is told after every change.
	Changed(ctx context.Context)
	// One and All send events again.
	One(ctx context.Context, w *ledger.Webhook, delivery postledger.ID) (event postledger.ID, err error)
	All(ctx context.Context, r webhook.Range) (replay postledger.ID, err error)
	// Test sends an event that is about nothing.
	Test(ctx context.Context, w *ledger.Webhook) (webhook.Result, error)
}

// ProfileError names the field of a profile that breaks a rule.
type ProfileError struct{ Field, Rule string }

func (e *ProfileError) Error() string { return e.Field + ": " + e.Rule }

// Sandbox is the mail that the sandbox transport keeps.
type Sandbox interface {
	Get(envelope postledger.ID) (sandbox.Message, bool)
}
