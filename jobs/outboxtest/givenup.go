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
		// In one look: what was given up may be committed still.
		n := 0
		all, _, err := s.List(t.Context(), jobs.Query{Limit: 10_000})
		for _, row := range all {
			if row.ID == rows[0].ID || row.ID == rows[1].ID {
				n++
			}
		}
		if err != nil || n == 1 || givenUp == nil && n != 2 {
			t.Fatalf("of a call with the answer %v there are %d rows of 2 (%v)", givenUp, n, err)
		}
	}
	if gave == 0 {
		t.Errorf("no call within %v was given up: the test proves nothing", whole)
	}
}
