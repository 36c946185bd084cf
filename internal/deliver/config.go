package deliver

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/mime"
	"github.com/postledger/postledger/internal/transport"
)

// Ledger is what a worker asks of the ledger.
type Ledger interface {
	NewID() postledger.ID
	// SQLite says that this process is the only one that serves the ledger.
	SQLite() bool
	Now(ctx context.Context) (time.Time, error)
	// PolicySnapshot reads all profiles and grants; it is asked every second
	// and on Reload.
	PolicySnapshot(ctx context.Context) (ledger.Policy, error)
	ReadState(ctx context.Context) (ledger.State, error)
	BeginRestore(ctx context.Context, at time.Time, proof []ledger.Worker) (time.Time, error)
	EndRestore(ctx context.Context, moment time.Time) (time.Time, error)
	OpenBefore(ctx context.Context, at time.Time, after postledger.ID, limit int) ([]postledger.ID, error)
	WaitingBeyond(ctx context.Context, passed []ledger.Passed) (ledger.Waits, error)
	Lease(ctx context.Context, worker postledger.ID, last ledger.Counts, wants []ledger.Want) ([]ledger.Claimed, error)
	Leases(ctx context.Context, worker, after postledger.ID, limit int) ([]ledger.Leased, error)
	LoadToSend(ctx context.Context, ids []postledger.ID, maxContent int64) (map[postledger.ID]*ledger.Loaded, error)
	Recheck(ctx context.Context, ids []postledger.ID) (map[postledger.ID]ledger.Check, error)
	Settle(ctx context.Context, ss []ledger.Settlement) ([]ledger.Settled, error)
	SettleBy(ctx context.Context, worker postledger.ID, last ledger.Counts, ss []ledger.Settlement) ([]ledger.Settled, int64, error)
	StartWorker(ctx context.Context, w ledger.Worker) error
	Heartbeat(ctx context.Context, worker postledger.ID, last ledger.Counts) (int64, error)
	EndWorker(ctx context.Context, worker postledger.ID) error
	Workers(ctx context.Context) ([]ledger.Worker, error)
	WorkerByID(ctx context.Context, id postledger.ID) (ledger.Worker, bool, error)
	PastDeadline(ctx context.Context, limit int) ([]postledger.ID, error)
	WaitingUnder(ctx context.Context, profile, app postledger.ID, limit int) ([]postledger.ID, error)
	ResendDue(ctx context.Context, profile postledger.ID, after ledger.Mark, most int) (ledger.Selection, error)
}

// Pair is an app and a profile.
type Pair struct{ App, Profile postledger.ID }

// Hop is a profile's way out, made from its configuration and secrets.
type Hop struct {
	Transport transport.Transport
	// Signer signs its messages; nil signs none.
	Signer mime.Signer
}

// Observer hears what metrics count. Its methods must not block.
type Observer interface {
	Leased(lane postledger.Lane, n int, took time.Duration)
	Sent(profile string, lane postledger.Lane, class postledger.OutcomeClass, took time.Duration)
	Settled(profile string, s []ledger.Settled)
	Health(profile, state string)
}

// Config is what a worker is made of.
type Config struct {
	Ledger Ledger
	// Hop makes the transport of a profile.
	Hop func(p postledger.Profile) (Hop, error)
	// Pause records that Postledger paused a profile by itself, and why.
	Pause func(ctx context.Context, profile postledger.ID, alarm string) error
	// Open opens an attachment.
	Open func(ctx context.Context, blob string) (io.ReadCloser, error)
	// OnSettled hears which messages moved: waiters look again.
	OnSettled func(messages []postledger.ID)

	JournalDir string
	Host       string
	Version    string

	// MemoryBudget bounds the bodies in flight, in bytes (default 128 MiB).
	MemoryBudget int64
	// Heartbeat is how often the worker's row is written (default 5 s).
	Heartbeat time.Duration
	// Timeout bounds each transaction of leasing and settling (default that of
	// the ledger).
	Timeout time.Duration
	// StaleAfter is how long a worker may go without a written heartbeat and
	// still transmit (default 20 s).
	StaleAfter time.Duration
	// LostAfter is how long an owner's heartbeat must stand still, by the
	// observer's own answers, until it is lost (default 60 s).
	LostAfter time.Duration
	// PollImmediate and PollBulk are how often keys are looked at that nobody
	// woke (default 250 ms and 2 s).
	PollImmediate, PollBulk time.Duration
	// Recovery is how often lost owners and expiries are looked for (default 30 s).
	Recovery time.Duration
	// Prune is how often idle connections are looked at that are too old to be
	// used (default 10 s).
	Prune time.Duration

	Log      *slog.Logger
	Observer Observer
	// Kill is called at kill points, in tests of crashes only.
	Kill func(point string)
}

func (c *Config) defaults() {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Timeout, ledger.DefaultTimeout)
	def(&c.Heartbeat, 5*time.Second)
	def(&c.StaleAfter, 20*time.Second)
	def(&c.LostAfter, 60*time.Second)
	def(&c.PollImmediate, 250*time.Millisecond)
	def(&c.PollBulk, 2*time.Second)
	def(&c.Recovery, 30*time.Second)
	def(&c.Prune, 10*time.Second)
	if c.MemoryBudget == 0 {
		c.MemoryBudget = 128 << 20
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Kill == nil {
		c.Kill = func(string) {}
	}
	if c.OnSettled == nil {
		c.OnSettled = func([]postledger.ID) {}
	}
	if c.Observer == nil {
		c.Observer = deaf{}
	}
}

// deaf is the observer of a worker that nobody watches.
type deaf struct{}

func (deaf) Leased(postledger.Lane, int, time.Duration)                           {}
func (deaf) Sent(string, postledger.Lane, postledger.OutcomeClass, time.Duration) {}
func (deaf) Settled(string, []ledger.Settled)                                     {}
func (deaf) Health(string, string)                                                {}
