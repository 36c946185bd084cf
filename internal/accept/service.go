package accept

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/transport"
)

// Ledger is what accepting needs of the ledger.
type Ledger interface {
	// Accept writes a request in one transaction and repeats every check of
	// key, policy and quota inside it.
	Accept(ctx context.Context, r *ledger.AcceptRequest) (ledger.Accepted, error)
	LookupKeys(ctx context.Context, app postledger.ID, keys, fingerprints []string) (map[int]ledger.AcceptedItem, error)
	EffectivePolicy(ctx context.Context, app postledger.ID, profile string) (ledger.Effective, error)
	// CheckQuota says whether n more recipients would be taken now. It is a
	// look before an upload; the charge itself decides.
	CheckQuota(ctx context.Context, app, profile postledger.ID, limit *int64, n int64) error
	LoadMessages(ctx context.Context, ids []postledger.ID, maxContent int64) (map[postledger.ID]*ledger.Loaded, error)
	DeliveriesOf(ctx context.Context, message postledger.ID) ([]postledger.Delivery, error)
	AppendAudit(ctx context.Context, e postledger.AuditEvent) error
	NewID() postledger.ID
	Now(ctx context.Context) (time.Time, error)
}

// Blobs is what accepting needs of the store for attachments.
type Blobs interface {
	Put(ctx context.Context, key string, r io.Reader, limit int64) (blob.Info, error)
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	Delete(ctx context.Context, key string) error
	Check(ctx context.Context) error
}

// Backlog estimates what waits.
type Backlog interface {
	// Waiting estimates the queued deliveries of a profile, or of all with
	// the zero id. It need not count further than upTo.
	Waiting(ctx context.Context, profile postledger.ID, upTo int64) (int64, error)
	// Added tells of deliveries that were accepted since.
	Added(profile postledger.ID, n int64)
}

// Config is what a Service works with. All but MaxWaiting, Wake, Timeout, Now
// and Log are needed.
type Config struct {
	Ledger  Ledger
	Blobs   Blobs
	Backlog Backlog
	// Capabilities are those of the profile's transport.
	Capabilities func(*postledger.Profile) transport.Capabilities
	// MaxWaiting bounds the queued deliveries of the whole ledger; 0 means no
	// bound.
	MaxWaiting int64
	// Wake is told, after the commit, of keys that have due deliveries. It
	// must not block. A wake-up that is lost is made good by the workers'
	// clock.
	Wake func([]ledger.ClaimKey)
	// Timeout bounds each look at the ledger (default that of the ledger).
	Timeout time.Duration
	Now     func() time.Time
	Log     *slog.Logger
}

// Service accepts requests. Its methods may be called from any goroutine.
type Service struct {
	Config
	policies *policies
	clock    *clock
	flights  *flights
	limiters *limiters
}

// New makes a service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Wake == nil {
		c.Wake = func([]ledger.ClaimKey) {}
	}
	if c.Timeout == 0 {
		c.Timeout = ledger.DefaultTimeout
	}
	c.Ledger, c.Backlog = patient{c.Ledger, c.Timeout}, patientBacklog{c.Backlog, c.Timeout}
	return &Service{
		Config:   c,
		policies: newPolicies(c.Ledger, c.Now),
		clock:    newClock(c.Ledger, c.Now),
		flights:  newFlights(),
		limiters: newLimiters(),
	}
}

// Receipt says what became of a request.
type Receipt struct {
	MessageID postledger.ID
	// BatchID is the batch the message came in; zero for a single one.
	BatchID postledger.ID
	// Replayed says that the key was known: this is the answer to the request
	// that used it first, and nothing new was written.
	Replayed bool
	// Gone says that the message under the key is not kept any more. Only
	// batches report it so; for a single message it is ErrMessageGone.
	Gone bool
	// Removed names what the HTML filter took out; empty for a replay.
	Removed []string
}

// Accept takes one message.
func (s *Service) Accept(ctx context.Context, c Caller, r *Request) (Receipt, error) {
	p := newProblems()
	rcpts := r.validate(p, false)
	if err := p.err(); err != nil {
		return Receipt{}, err
	}
	if err := r.consent(); err != nil {
		return Receipt{}, err
	}
	var print string
	if r.Key != "" {
		var err error
		if print, err = r.fingerprint(); err != nil {
			return Receipt{}, invalid("", RuleSyntax, "cannot be compared with others")
		}
	}
	return s.once(ctx, c, &draft{
		app: c.App, req: r, rcpts: rcpts, lane: r.lane(), fingerprint: print, action: "message.accept",
	}, nil)
}

// first accepts a message whose key may be known: the transaction answers for
// that one too.
func (s *Service) first(ctx context.Context, c Caller, d *draft) (Receipt, error) {
	// An upload is refused by what holds now; for the rest the transaction
	// notices when what was read is no longer so.
	read := s.policies.get
	if len(d.req.Attachments) > 0 {
		read = s.policies.fresh
	}
	e, err := read(ctx, d.app, d.req.Profile)
	if err != nil {
		return Receipt{}, refuse(err)
	}
	if d.lane == postledger.LaneImmediate && e.Profile.Config.ImmediatePerMinute > 0 {
		// A replay does not count against the rate. Such an app is slow by
		// definition, so that the look costs it nothing.
		if rec, known, err := s.known(ctx, d); known || err != nil {
			return rec, err
		}
	}
	if err := s.admit(ctx, d, &e); err != nil {
		return Receipt{}, err
	}
	d.id = s.Ledger.NewID()
	if err := s.upload(ctx, d, &e); err != nil {
		return Receipt{}, err
	}
	out, err := s.write(ctx, c, &submission{drafts: []*draft{d}, action: d.action}, e)
	if err != nil {
		return Receipt{}, err
	}
	rec, err := single(out.Items[0])
	if err == nil && !rec.Replayed {
		rec.Removed = d.removed
	}
	return rec, err
}

// admit refuses what is too much at the moment.
func (s *Service) admit(ctx context.Context, d *draft, e *ledger.Effective) error {
	// Times first: a request that is wrong is told so rather than to come again.
	if d.req.timed() {
		now, err := s.clock.read(ctx)
		if err != nil {
			return err
		}
		p := newProblems()
		d.checkTimes(p, now)
		if err := p.err(); err != nil {
			return err
		}
	}
	if d.lane == postledger.LaneImmediate {
		if err := s.limiters.take(d.app, &e.Profile, s.Now()); err != nil {
			return err
		}
	}
	return s.checkOverload(ctx)
}

// Unavailable reports whether an error of the ledger is no answer of its: it
// could not do what it was asked.
func Unavailable(err error) bool { return CodeOf(refuse(err)) == CodeUnavailable && !stale(err) }

// refuse turns an error of the ledger into a refusal; one that is none of its
// answers means that it could not be asked, and that nothing was changed.
func refuse(err error) error {
	var quota *ledger.QuotaError
	var mismatch *ledger.MismatchError
	switch {
	case CodeOf(err) != "":
		return err
	case errors.As(err, &quota):
		return &QuotaError{*quota}
	case errors.As(err, &mismatch):
		return &MismatchError{Index: mismatch.Index, Other: -1}
	case errors.Is(err, ledger.ErrProfileRequired):
		return ErrProfileRequired
	case errors.Is(err, ledger.ErrProfileUnknown):
		return ErrProfileUnknown
	case errors.Is(err, ledger.ErrProfileGone):
		return ErrProfileRemoved
	case errors.Is(err, ledger.ErrNotGranted):
		return ErrProfileNotAllowed
	case errors.Is(err, ledger.ErrKeyRevoked), errors.Is(err, ledger.ErrAppRemoved), errors.Is(err, ledger.ErrAppUnknown):
		return ErrUnauthorized
	case errors.Is(err, ledger.ErrKeyBusy):
		return &BusyError{CodeInProgress, time.Second}
	default:
		return &UnavailableError{Err: err}
	}
}
