package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
)

// Config is what the API works with. Everything without "optional" is needed.
type Config struct {
	Ledger    Ledger
	Acceptor  Acceptor
	Operator  Operator
	Waiter    Waiter
	Profiles  Profiles
	Webhooks  Webhooks
	Sandbox   Sandbox
	Audiences Audiences
	Readiness Readiness
	Jobs      Jobs

	// Changed is told after every change of apps, keys, profiles and grants, so
	// that this process obeys it at once. Optional.
	Changed func()
	// Source names who a request comes from, for the limit on failed logins;
	// default the address of the connection, of IPv6 its /64. Optional.
	Source func(*http.Request) string
	// KeyRate and KeyBurst bound the requests with one key a second; default
	// 200 and 400. Optional.
	KeyRate  float64
	KeyBurst int
	// Stall is how long a body may stop coming; default 30 s. Optional.
	Stall time.Duration
	// BodyMemory bounds what the JSON of all requests holds at one time, in
	// bytes; default 96 MiB. A request that needs more is read alone. Optional.
	BodyMemory int64
	// Timeout bounds the look-up of a caller's key; default 15 s. Optional.
	Timeout time.Duration
	// Now is the clock of limits and caches. Optional.
	Now func() time.Time
	// Log gets one line a request, without bodies and addresses. Optional.
	Log *slog.Logger
}

// Ledger is what the API reads, and what it administers.
type Ledger interface {
	NewID() postledger.ID
	AppendAudit(ctx context.Context, e postledger.AuditEvent) error
	// PolicyVersion changes whenever an app, a key, a grant or a profile does.
	PolicyVersion(ctx context.Context) (int64, error)
	APIKeyBySum(ctx context.Context, sum [sha256.Size]byte) (postledger.APIKey, postledger.App, error)

	MessageByID(ctx context.Context, app, id postledger.ID) (ledger.MessageView, error)
	Messages(ctx context.Context, f ledger.Filter, p ledger.Paging) (ledger.Page[postledger.Message], error)
	Summaries(ctx context.Context, messages []postledger.ID) (map[postledger.ID]ledger.Summary, error)
	Deliveries(ctx context.Context, f ledger.Filter, p ledger.Paging) (ledger.Page[ledger.ListedDelivery], error)
	ReadContent(ctx context.Context, app, id postledger.ID, audit postledger.AuditEvent) (postledger.Content, error)
	StatsHours(ctx context.Context, f ledger.StatsFilter) ([]ledger.HourStats, error)
	Audit(ctx context.Context, f ledger.AuditFilter, p ledger.Paging) (ledger.Page[postledger.AuditEvent], error)

	Apps(ctx context.Context) ([]postledger.App, error)
	AppByID(ctx context.Context, id postledger.ID) (postledger.App, error)
	CreateApp(ctx context.Context, a postledger.App, audit postledger.AuditEvent) error
	RemoveApp(ctx context.Context, id postledger.ID, audit postledger.AuditEvent) error

	APIKeys(ctx context.Context, app postledger.ID) ([]postledger.APIKey, error)
	CreateAPIKey(ctx context.Context, k postledger.APIKey, sum [sha256.Size]byte, audit postledger.AuditEvent) error
	RevokeAPIKey(ctx context.Context, id postledger.ID, audit postledger.AuditEvent) error

	Profiles(ctx context.Context) ([]postledger.Profile, error)
	ProfileByID(ctx context.Context, id postledger.ID) (postledger.Profile, error)
	ProfileByName(ctx context.Context, name string) (postledger.Profile, error)
	PutProfile(ctx context.Context, p postledger.Profile, revision int64, audit postledger.AuditEvent) (postledger.Profile, error)
	PauseProfile(ctx context.Context, id postledger.ID, reason, alarm string, audit postledger.AuditEvent) error
	ResumeProfile(ctx context.Context, id postledger.ID, audit postledger.AuditEvent) error
	RemoveProfile(ctx context.Context, id postledger.ID, audit postledger.AuditEvent) error
	Backlogs(ctx context.Context) (map[postledger.ID]ledger.Backlog, error)

	Grants(ctx context.Context, app postledger.ID) ([]postledger.Grant, error)
	PutGrant(ctx context.Context, g postledger.Grant, audit postledger.AuditEvent) error
	RevokeGrant(ctx context.Context, app, profile postledger.ID, audit postledger.AuditEvent) error

	Suppressions(ctx context.Context, app postledger.ID, after string, limit int) ([]ledger.Suppression, error)
	PutSuppression(ctx context.Context, s ledger.Suppression, audit postledger.AuditEvent) error
	DeleteSuppression(ctx context.Context, app postledger.ID, folded string, audit postledger.AuditEvent) error

	Audiences(ctx context.Context, app postledger.ID, after string, limit int) (list []postledger.Audience, more bool, err error)
	AudienceByID(ctx context.Context, app, id postledger.ID, revision int64) (postledger.Audience, error)
	AudienceByName(ctx context.Context, app postledger.ID, name string) (postledger.Audience, error)
	AudienceVersions(ctx context.Context, app, id postledger.ID, before int64, limit int) (list []postledger.Audience, more bool, err error)
	PutAudience(ctx context.Context, a postledger.Audience, revision int64, audit postledger.AuditEvent) (postledger.Audience, error)
	RemoveAudience(ctx context.Context, app, id postledger.ID, audit postledger.AuditEvent) error
	Webhook(ctx context.Context, id postledger.ID) (ledger.Webhook, error)
	WebhooksOf(ctx context.Context, app postledger.ID) ([]ledger.Webhook, error)
	CreateWebhook(ctx context.Context, w ledger.Webhook, audit postledger.AuditEvent) error
	ChangeWebhook(ctx context.Context, id postledger.ID, audit postledger.AuditEvent, change func(w *ledger.Webhook, now time.Time) (altered bool, err error)) (ledger.Webhook, error)
	RemoveWebhook(ctx context.Context, id postledger.ID, audit postledger.AuditEvent) error
	WebhookAttempts(ctx context.Context, endpoint, delivery, before postledger.ID, limit int) ([]ledger.WebhookAttempt, error)

	Retention(ctx context.Context) (ledger.RetentionSettings, error)
	PutRetention(ctx context.Context, r ledger.RetentionSettings, audit postledger.AuditEvent) error
}

// Acceptor is the step that takes messages.
type Acceptor interface {
	Accept(ctx context.Context, c accept.Caller, r *accept.Request) (accept.Receipt, error)
	NewBatch(c accept.Caller, head accept.BatchHead) *accept.Batch
	Resend(ctx context.Context, c accept.Caller, r *accept.ResendRequest) (accept.Receipt, error)
}

// Waiter waits for the wire.
type Waiter interface {
	// Wait returns nil as soon as each delivery of the message has settled or
	// was deferred once, and the context's error when that ends first.
	Wait(ctx context.Context, message postledger.ID) error
}

// Readiness says whether this process can take and send mail now.
type Readiness interface {
	// Ready is nil, or why not; the public answer shows that there is a reason
	// and not which.
	Ready(ctx context.Context) error
}

var errIncomplete = errors.New("api config: a dependency is missing")

// withDefaults checks that nothing is missing and fills in what is optional.
func (c Config) withDefaults() (Config, error) {
	if c.Ledger == nil || c.Acceptor == nil || c.Operator == nil || c.Waiter == nil ||
		c.Profiles == nil || c.Webhooks == nil || c.Sandbox == nil || c.Audiences == nil || c.Readiness == nil || c.Jobs == nil {
		return c, errIncomplete
	}
	if c.KeyRate < 0 || c.KeyBurst < 0 {
		return c, errors.New("api config: key rate and burst must not be negative")
	}
	if c.KeyRate == 0 {
		c.KeyRate = 200
	}
	if c.KeyBurst == 0 {
		c.KeyBurst = int(2 * c.KeyRate)
	}
	c.KeyBurst = max(1, c.KeyBurst)
	return c.optional(), nil
}

func (c Config) optional() Config {
	if c.Changed == nil {
		c.Changed = func() {}
	}
	if c.Source == nil {
		c.Source = connectionSource
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout <= 0 {
		c.Timeout = ledger.DefaultTimeout
	}
	if c.Stall <= 0 {
		c.Stall = 30 * time.Second
	}
	if c.BodyMemory <= 0 {
		c.BodyMemory = 96 << 20
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// connectionSource is the connection's address. Of IPv6 it is the /64: one
// machine commonly has all of them.
func connectionSource(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if a = a.Unmap(); a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
