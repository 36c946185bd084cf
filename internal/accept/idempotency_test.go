package accept_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/ledger"
)

func keyed(key string) *accept.Request {
	r := good()
	r.Key = key
	return r
}

// Invariant 1, case B24: racers with one key get one message, the key refuses
// another body, and both hold in another process and after a restart.
func TestRacersWithOneKey(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		services := []*accept.Service{w.Service}
		if !w.ledger.SQLite() {
			services = append(services, w.service(openLedger(t, w.url)))
		}
		const racers = 25
		receipts := make([]accept.Receipt, racers)
		errs := make([]error, racers)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range racers {
			wg.Go(func() {
				<-start
				receipts[i], errs[i] = services[i%len(services)].Accept(t.Context(), w.caller, keyed("k-19"))
			})
		}
		close(start)
		wg.Wait()
		first := 0
		for i := range racers {
			must(t, errs[i])
			equal(t, "message", receipts[i].MessageID, receipts[0].MessageID)
			if !receipts[i].Replayed {
				first++
			}
		}
		equal(t, "answers that are not replays", first, 1)
		rows := w.rows()
		equal(t, "messages", rows["messages"], 1)
		equal(t, "deliveries", rows["deliveries"], 1)
		equal(t, "lines of audit", len(w.audits()), 1)

		other := keyed("k-19")
		other.Subject = "Week 13"
		_, err := w.Accept(t.Context(), w.caller, other)
		refused(t, err, accept.CodeMismatch)

		again := w.service(w.ledger) // nothing in memory, as after a restart
		rec, err := again.Accept(t.Context(), w.caller, keyed("k-19"))
		must(t, err)
		equal(t, "message after a restart", rec.MessageID == receipts[0].MessageID && rec.Replayed, true)
		_, err = again.Accept(t.Context(), w.caller, other)
		refused(t, err, accept.CodeMismatch)

		// Keys are the app's own.
		rec, err = w.Accept(t.Context(), accept.Caller{App: w.app("second")}, other)
		must(t, err)
		equal(t, "another app's message", rec.Replayed, false)
		equal(t, "messages", w.rows()["messages"], 2)
	})
}

// A key stands for the request's meaning, not its spelling.
func TestTheSameRequestInOtherWords(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		first, _, _ := w.accepted(decode(t, `{"to":[{"address":"a@b.test"}],"text":"x","send_at":"2026-01-01T10:00:00Z","idempotency_key":"k","attachments":[{"name":"a","content":"QQ=="}]}`))
		for text, want := range map[string]accept.Code{
			`{"idempotency_key":"k","text":"x","lane":"immediate","category":"system","send_at":"2026-01-01T11:00:00+01:00","to":[{"address":"a@b.test"}],"attachments":[{"content":"QQ==","size":1,"name":"a","disposition":"attachment"}]}`: "",
			`{"to":[{"address":"a@b.test"}],"text":"x","send_at":"2026-01-01T10:00:00Z","idempotency_key":"k","attachments":[{"name":"a","content":"Qg=="}]}`:                                                                                 accept.CodeMismatch,
			`{"to":[{"address":"A@b.test"}],"text":"x","send_at":"2026-01-01T10:00:00Z","idempotency_key":"k","attachments":[{"name":"a","content":"QQ=="}]}`:                                                                                 accept.CodeMismatch,
			`{"cc":[{"address":"a@b.test"}],"text":"x","send_at":"2026-01-01T10:00:00Z","idempotency_key":"k","attachments":[{"name":"a","content":"QQ=="}]}`:                                                                                 accept.CodeMismatch,
			`{"to":[{"address":"a@b.test"}],"text":"x","send_at":"2026-01-01T10:00:00Z","idempotency_key":"k","attachments":[{"name":"a","content":"QQ=="}],"deadline":60}`:                                                                   accept.CodeMismatch,
		} {
			rec, err := w.Accept(t.Context(), w.caller, decode(t, text))
			if want != "" {
				refused(t, err, want)
				continue
			}
			must(t, err)
			equal(t, "replayed", rec.Replayed && rec.MessageID == first.MessageID, true)
		}
	})
}

// A known key answers although the request could not be accepted any more.
func TestAReplayNeedsNoPermission(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		r := keyed("k")
		r.Deadline.At = time.Now().Add(time.Second / 2)
		first, _, _ := w.accepted(r)
		w.reconfigure(func(c *postledger.ProfileConfig) { c.QuotaPerDay = new(int64) })
		other := w.put(postledger.Profile{Name: "next", IsDefault: true, Config: config()})
		must(t, w.ledger.RemoveProfile(t.Context(), w.profile.ID, w.did("profile.remove")))
		w.grant(postledger.Grant{AppID: w.caller.App, ProfileID: other.ID})
		<-time.After(time.Until(r.Deadline.At))
		rec, err := w.service(w.ledger).Accept(t.Context(), w.caller, r)
		must(t, err)
		equal(t, "message", rec.MessageID, first.MessageID)
		equal(t, "replayed", rec.Replayed, true)
	})
}

// flaky fails some accepts of a real ledger, without asking it or after it.
type flaky struct {
	accept.Ledger
	fail  func(call int64) error // before the ledger is asked
	lose  func(call int64) error // after it has committed
	calls atomic.Int64
}

func (f *flaky) Accept(ctx context.Context, r *ledger.AcceptRequest) (ledger.Accepted, error) {
	n := f.calls.Add(1)
	if f.fail != nil {
		if err := f.fail(n); err != nil {
			return ledger.Accepted{}, err
		}
	}
	out, err := f.Ledger.Accept(ctx, r)
	if err == nil && f.lose != nil {
		if err := f.lose(n); err != nil {
			return ledger.Accepted{}, err
		}
	}
	return out, err
}

func TestAFailedFirstTryDoesNotLockTheKey(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, w *world) {
		broken := errors.New("connection refused")
		f := &flaky{Ledger: w.ledger, fail: func(n int64) error {
			if n == 1 {
				return broken
			}
			return nil
		}}
		s := w.service(f)
		_, err := s.Accept(t.Context(), w.caller, keyed("k"))
		refused(t, err, accept.CodeUnavailable)
		if !errors.Is(err, broken) {
			t.Errorf("the cause is lost: %v", err)
		}
		other := keyed("k")
		other.Subject = "Week 13"
		rec, err := s.Accept(t.Context(), w.caller, other)
		must(t, err)
		equal(t, "replayed", rec.Replayed, false)
	})
}

// scripted is a ledger that answers from memory, for what a real one cannot be
// made to do at a given moment.
type scripted struct {
	accept.Ledger
	ids     postledger.IDSource
	mu      sync.Mutex
	known   map[string]ledger.AcceptedItem
	asks    int // transactions
	calls   int // those that found a new key
	lookups int
	accept  func(call int, r *ledger.AcceptRequest) error
	look    func() error
}

func (s *scripted) NewID() postledger.ID { return s.ids.Next(time.Now()) }

func (s *scripted) LookupKeys(_ context.Context, _ postledger.ID, keys, _ []string) (map[int]ledger.AcceptedItem, error) {
	s.mu.Lock()
	s.lookups++
	s.mu.Unlock()
	if s.look != nil {
		if err := s.look(); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if item, ok := s.known[keys[0]]; ok {
		return map[int]ledger.AcceptedItem{0: item}, nil
	}
	return nil, nil
}

func (s *scripted) EffectivePolicy(context.Context, postledger.ID, string) (ledger.Effective, error) {
	return ledger.Effective{Profile: postledger.Profile{Name: "main", Config: config()}}, nil
}

func (s *scripted) Accept(_ context.Context, r *ledger.AcceptRequest) (ledger.Accepted, error) {
	s.mu.Lock()
	s.asks++
	item, ok := s.known[r.Messages[0].Key]
	if !ok {
		s.calls++
	}
	call := s.calls
	s.mu.Unlock()
	if ok {
		return ledger.Accepted{Items: []ledger.AcceptedItem{item}}, nil
	}
	if err := s.accept(call, r); err != nil {
		return ledger.Accepted{}, err
	}
	item = ledger.AcceptedItem{MessageID: r.Messages[0].Message.ID}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]ledger.AcceptedItem{}
	}
	s.known[r.Messages[0].Key] = ledger.AcceptedItem{MessageID: item.MessageID, Replayed: true}
	return ledger.Accepted{Items: []ledger.AcceptedItem{item}}, nil
}

// Racers wait for the first without asking the ledger, and get its answer.
func TestRacersJoinBeforeTheLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		l := &scripted{accept: func(int, *ledger.AcceptRequest) error { <-gate; return nil }}
		s := (&world{t: t}).service(l)
		receipts, errs := make([]accept.Receipt, 25), make([]error, 25)
		var wg sync.WaitGroup
		for i := range receipts {
			wg.Go(func() {
				r := keyed("k")
				if i == 24 {
					r.Subject = "Week 13"
				}
				ctx := t.Context()
				if i == 23 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Second)
					defer cancel()
				}
				receipts[i], errs[i] = s.Accept(ctx, accept.Caller{}, r)
			})
			if i == 0 {
				synctest.Wait() // the first is in the ledger by now
			}
		}
		<-time.After(2 * time.Second)
		close(gate)
		wg.Wait()
		equal(t, "accepts", l.asks, 1)
		equal(t, "look-ups", l.lookups, 0)
		for i := range 23 {
			must(t, errs[i])
			equal(t, "message", receipts[i].MessageID, receipts[0].MessageID)
			equal(t, "replayed", receipts[i].Replayed, i > 0)
		}
		refused(t, errs[23], accept.CodeUnavailable) // its own patience ended
		refused(t, errs[24], accept.CodeMismatch)
	})
}

// Racers whose files must not be read for nothing wait for the one that looks
// at the key, and for the one that finds another request under it.
func TestRacersJoinBeforeTheLookUp(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]error{"known": nil, "of another request": &ledger.MismatchError{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				known := postledger.ID{1}
				l := &scripted{
					known: map[string]ledger.AcceptedItem{"k": {MessageID: known, Replayed: true}},
					look:  func() error { <-gate; return other },
				}
				s := (&world{t: t}).service(l)
				receipts, errs := make([]accept.Receipt, 25), make([]error, 25)
				var wg sync.WaitGroup
				for i := range receipts {
					wg.Go(func() {
						r := keyed("k")
						r.Attachments = file(nil)
						receipts[i], errs[i] = s.Accept(t.Context(), accept.Caller{}, r)
					})
				}
				synctest.Wait()
				close(gate)
				wg.Wait()
				equal(t, "accepts", l.asks, 0)
				equal(t, "look-ups", l.lookups, 1)
				for i := range receipts {
					if other != nil {
						refused(t, errs[i], accept.CodeMismatch)
						continue
					}
					must(t, errs[i])
					equal(t, "message", receipts[i].MessageID, known)
					equal(t, "replayed", receipts[i].Replayed, true)
				}
			})
		})
	}
}

func TestWhoWaitedTriesAgainWhenTheFirstFailedForItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		l := &scripted{accept: func(call int, _ *ledger.AcceptRequest) error {
			if call == 1 {
				<-gate
				return context.Canceled
			}
			return nil
		}}
		s := (&world{t: t}).service(l)
		var errs [3]error
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = s.Accept(t.Context(), accept.Caller{}, keyed("k")) })
			synctest.Wait()
		}
		close(gate)
		wg.Wait()
		refused(t, errs[0], accept.CodeUnavailable)
		must(t, errs[1])
		must(t, errs[2])
		equal(t, "accepts of a new key", l.calls, 2)
		equal(t, "look-ups", l.lookups, 1) // the first's, before it said so
	})
}

func TestAFailureForEverybodyIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		l := &scripted{accept: func(int, *ledger.AcceptRequest) error {
			<-gate
			return fmt.Errorf("accept: %w", &ledger.QuotaError{Limit: 1, Used: 1, Requested: 1})
		}}
		s := (&world{t: t}).service(l)
		var errs [3]error
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = s.Accept(t.Context(), accept.Caller{}, keyed("k")) })
			synctest.Wait()
		}
		close(gate)
		wg.Wait()
		for i := range errs {
			refused(t, errs[i], accept.CodeQuota)
		}
		equal(t, "accepts", l.asks, 1)
		equal(t, "look-ups", l.lookups, 0) // the transaction's was enough
	})
}

func TestEveryAnswerOfTheLedgerHasACode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err   error
		want  accept.Code
		calls int
	}{
		{ledger.ErrProfileChanged, accept.CodeUnavailable, 4},
		{ledger.ErrProfileGone, accept.CodeRemoved, 4},
		{ledger.ErrNotGranted, accept.CodeNotAllowed, 4},
		{ledger.ErrKeyRevoked, accept.CodeUnauthorized, 1},
		{ledger.ErrKeyBusy, accept.CodeInProgress, 1},
		{ledger.ErrFateUnknown, accept.CodeUnavailable, 1},
		{&ledger.MismatchError{}, accept.CodeMismatch, 1},
		{&ledger.QuotaError{Limit: 1}, accept.CodeQuota, 1},
		{errors.New("connection refused"), accept.CodeUnavailable, 1},
	} {
		l := &scripted{accept: func(int, *ledger.AcceptRequest) error { return fmt.Errorf("accept: %w", tt.err) }}
		_, err := (&world{t: t}).service(l).Accept(t.Context(), accept.Caller{}, good())
		refused(t, err, tt.want)
		equal(t, tt.err.Error(), l.calls, tt.calls)
		var u *accept.UnavailableError
		if errors.As(err, &u) {
			fate := errors.Is(tt.err, ledger.ErrFateUnknown)
			equal(t, "fate unknown", u.FateUnknown, fate)
			equal(t, "message id", !u.MessageID.IsZero(), fate)
		}
	}
}
