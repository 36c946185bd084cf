package settle_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/settle"
)

// store is a ledger whose answers are the test's: it is the failures that are
// tested here, and a real database fails too seldom.
type store struct {
	mu     sync.Mutex
	writes [][]ledger.Settlement
	// fail decides about the n-th call.
	fail func(ctx context.Context, n int) error
}

func (s *store) Settle(ctx context.Context, ss []ledger.Settlement) ([]ledger.Settled, error) {
	s.mu.Lock()
	s.writes = append(s.writes, ss)
	n := len(s.writes)
	s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(ctx, n); err != nil {
			return nil, err
		}
	}
	out := make([]ledger.Settled, len(ss))
	for i := range ss {
		out[i] = ledger.Settled{Applied: true, Status: ss[i].To, MessageID: ss[i].ID}
	}
	return out, nil
}

// sizes are how many settlements each call had.
func (s *store) sizes() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n []int
	for _, w := range s.writes {
		n = append(n, len(w))
	}
	return n
}

func settlements(n int) []ledger.Settlement {
	ss := make([]ledger.Settlement, n)
	for i := range ss {
		ss[i].ID = id(byte('a' + i%26))
	}
	return ss
}

func sameInts(got []int, want ...int) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i] != want[i] {
			return false
		}
	}
	return true
}

func closeSettler(t *testing.T, s *settle.Settler) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
}

// What nobody waits for waits longer for company, until something comes that
// is awaited.
func TestSettlerIsPatientWhileNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{}
		s := settle.New(st, settle.Options{Linger: 2 * time.Millisecond, Patience: 8 * time.Millisecond})
		took := make(chan time.Duration, 10)
		began := time.Now()
		submit := func(awaited bool) {
			s.Submit(settlements(1), awaited, func([]ledger.Settled) { took <- time.Since(began) })
		}
		submit(false)
		<-time.After(7 * time.Millisecond)
		submit(false)
		if first, second := <-took, <-took; first != 8*time.Millisecond || second != first || !sameInts(st.sizes(), 2) {
			t.Errorf("written %v after %v and %v, want both after 8 ms", st.sizes(), first, second)
		}
		for _, tc := range []struct{ comes, written time.Duration }{
			{3 * time.Millisecond, 5 * time.Millisecond},
			{7 * time.Millisecond, 8 * time.Millisecond},
		} {
			began = time.Now()
			submit(false)
			<-time.After(tc.comes)
			submit(true)
			if first, second := <-took, <-took; first != tc.written || second != first {
				t.Errorf("awaited from %v on: written after %v and %v, want %v", tc.comes, first, second, tc.written)
			}
		}
		closeSettler(t, s)
	})
}

func TestSettlerGathersABatchWithinItsLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{}
		s := settle.New(st, settle.Options{Linger: 2 * time.Millisecond, Batch: 5})
		done := make(chan int, 10)
		submit := func(n int) {
			s.Submit(settlements(n), true, func(out []ledger.Settled) { done <- len(out) })
		}
		submit(1)
		<-time.After(time.Millisecond)
		submit(2)
		synctest.Wait()
		if len(st.sizes()) != 0 {
			t.Fatalf("written before the linger was over: %v", st.sizes())
		}
		<-time.After(time.Millisecond)
		synctest.Wait()
		if !sameInts(st.sizes(), 3) || <-done != 1 || <-done != 2 {
			t.Fatalf("written %v, want one batch of 3", st.sizes())
		}
		// A full batch does not wait; an envelope is not torn apart.
		began := time.Now()
		submit(3)
		submit(3)
		submit(1)
		synctest.Wait()
		if !sameInts(st.sizes(), 3, 6) || time.Since(began) != 0 {
			t.Fatalf("written %v after %v, want a full batch at once", st.sizes(), time.Since(began))
		}
		closeSettler(t, s)
		if !sameInts(st.sizes(), 3, 6, 1) {
			t.Errorf("written %v after the close", st.sizes())
		}
	})
}

func TestSettlerRepeatsUntilTheLedgerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{fail: func(ctx context.Context, n int) error {
			switch {
			case n == 3: // no answer at all: the call is bounded
				<-ctx.Done()
				return ctx.Err()
			case n <= 12:
				return errors.New("the database is away")
			}
			return nil
		}}
		s := settle.New(st, settle.Options{})
		began, done := time.Now(), make(chan time.Duration, 1)
		s.Submit(settlements(2), true, func([]ledger.Settled) { done <- time.Since(began) })
		took := <-done
		// 2 ms, then 50 ms doubled up to 5 s, and 15 s for the answer that never came.
		if want := 2*time.Millisecond + 15*time.Second + (50+100+200+400+800+1600+3200)*time.Millisecond + 5*5*time.Second; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
		for i, n := range st.sizes() {
			if n != 2 {
				t.Errorf("call %d had %d settlements", i, n)
			}
		}
		closeSettler(t, s)
	})
}

// What waits is bounded: a ledger that falls behind slows the wire down.
func TestSettlerHoldsItsSendersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		st := &store{fail: func(context.Context, int) error { <-release; return nil }}
		const unsettled = 4
		s := settle.New(st, settle.Options{Unsettled: unsettled, Batch: 1})
		var mu sync.Mutex
		submitted, done := 0, 0
		var senders sync.WaitGroup
		for range 10 {
			senders.Go(func() {
				s.Submit(settlements(1), true, func([]ledger.Settled) { mu.Lock(); done++; mu.Unlock() })
				mu.Lock()
				submitted++
				mu.Unlock()
			})
		}
		synctest.Wait()
		if submitted != unsettled+1 || done != 0 { // one is being written
			t.Errorf("%d handed over and %d done while the ledger is away, want %d and 0", submitted, done, unsettled+1)
		}
		close(release)
		senders.Wait()
		closeSettler(t, s)
		if done != 10 {
			t.Errorf("%d of 10 done", done)
		}
	})
}

func TestCloseWritesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{fail: func(_ context.Context, n int) error {
			if n < 3 {
				return errors.New("the database is away")
			}
			return nil
		}}
		s := settle.New(st, settle.Options{Batch: 2})
		done := 0
		for range 7 {
			s.Submit(settlements(1), true, func(out []ledger.Settled) { done += len(out) })
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Close(ctx); err != nil || done != 7 {
			t.Errorf("close: %v, %d of 7 done", err, done)
		}
		if err := s.Close(ctx); err != nil {
			t.Errorf("second close: %v", err)
		}
	})
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, fail := range map[string]func(context.Context, int) error{
			"failing": func(context.Context, int) error { return errors.New("the database is away") },
			"silent":  func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() },
		} {
			s := settle.New(&store{fail: fail}, settle.Options{Unsettled: 1})
			called := func([]ledger.Settled) { t.Errorf("%s: done was called, and nothing was written", name) }
			s.Submit(settlements(1), true, called)
			s.Submit(settlements(1), true, called)
			began := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), 7*time.Second)
			if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: close: %v, want the context's end", name, err)
			}
			if took := time.Since(began); took != 7*time.Second {
				t.Errorf("%s: close took %v", name, took)
			}
			cancel()
			// A straggler is let go, and its done is not called.
			for range 3 {
				s.Submit(settlements(1), true, called)
			}
		}
	})
}

func TestKillPointsLieAroundTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{}
		var seen []int
		s := settle.New(st, settle.Options{Kill: func(point string) {
			switch point {
			case "settle_before":
				seen = append(seen, len(st.sizes()))
			case "settle_committed":
				seen = append(seen, 10+len(st.sizes()))
			}
		}})
		s.Submit(settlements(1), true, func([]ledger.Settled) { seen = append(seen, 100) })
		closeSettler(t, s)
		if !sameInts(seen, 0, 11, 100) {
			t.Errorf("order %v", seen)
		}
	})
}
