package outboxtest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Callers that give up, each at another moment of a call. What a call has begun
// then must not stay in its connection, where the next call finds it: none of
// those that have time may fail, and what was given up is there as a whole or not
// at all.
func callsGivenUp(t *testing.T, s Store) {
	insert := func(ctx context.Context) ([]jobs.Insertion, error) {
		rows := []jobs.Insertion{{Entry: job()}, {Entry: job()}}
		_, err := s.Insert(ctx, rows)
		return rows, err
	}
	// The shortest of some: the first opens connections, and a machine that stalls
	// once would let every later call end in time.
	whole := patience
	for range 5 {
		begun := time.Now()
		if _, err := insert(t.Context()); err != nil {
			t.Fatal(err)
		}
		whole = min(whole, time.Since(begun))
	}
	gave := 0
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(whole))
		rows, givenUp := insert(ctx)
		cancel()
		if givenUp != nil {
			gave++
		}
		ctx, cancel = context.WithTimeout(t.Context(), patience)
		err := s.ReleaseLease(ctx, "l", "o")
		cancel()
		if err != nil {
			t.Fatalf("a call was given up (%v), and the next fails: %v", givenUp, err)
		}
		_, err = s.Get(t.Context(), rows[0].ID)
		_, err2 := s.Get(t.Context(), rows[1].ID)
		if (err == nil) != (err2 == nil) || givenUp == nil && err != nil {
			t.Fatalf("of a call with the answer %v there are rows: %v, %v", givenUp, err, err2)
		}
	}
	if gave == 0 {
		t.Errorf("no call within %v was given up: the test proves nothing", whole)
	}
}
