package fair_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/postledger/postledger/internal/deliver/fair"
)

// Backlogged keys get within one quantum of each other, whatever the totals,
// and total is handed out in full.
func TestBackloggedKeysGetTheirShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quantum := rapid.IntRange(1, 20).Draw(t, "quantum")
		keys := rapid.IntRange(1, 12).Draw(t, "keys")
		turns, err := fair.New[int](quantum)
		if err != nil {
			t.Fatal(err)
		}
		for k := range keys {
			turns.Add(k)
		}
		got := make([]int, keys)
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			total := rapid.IntRange(0, 100).Draw(t, "total")
			sum := 0
			for _, g := range turns.Next(total, func(_ int, n int) int { return n }) {
				got[g.Key] += g.N
				sum += g.N
			}
			if sum != total {
				t.Fatalf("handed out %d of %d", sum, total)
			}
			low, high := got[0], got[0]
			for _, n := range got {
				low, high = min(low, n), max(high, n)
			}
			if high-low > quantum {
				t.Fatalf("shares %v differ by more than the quantum %d", got, quantum)
			}
		}
	})
}

// Keys come and go, have limits of their own and overdraw: nobody with work
// and room waits for more than a round, nothing is handed out twice, and a
// total is only left over when nobody could use it.
func TestNobodyStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quantum := rapid.IntRange(1, 8).Draw(t, "quantum")
		turns, err := fair.New[int](quantum)
		if err != nil {
			t.Fatal(err)
		}
		work := make(map[int]int)
		waited := make(map[int]int) // what others got since the key got anything
		debts := 0                  // all that was ever overdrawn
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			key := rapid.IntRange(0, 9).Draw(t, "key")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				if work[key] == 0 {
					waited[key] = 0
				}
				work[key] += rapid.IntRange(1, 1000).Draw(t, "more")
				turns.Add(key)
			case 1:
				over := rapid.IntRange(0, 49).Draw(t, "over")
				if work[key] > 0 {
					turns.Charge(key, over)
					debts += over
				}
			default:
				total := rapid.IntRange(0, 64).Draw(t, "total")
				sum := 0
				for _, g := range turns.Next(total, func(k, n int) int {
					n = min(n, work[k])
					work[k] -= n
					for other := range work {
						if other != k && work[other] > 0 {
							waited[other] += n
						}
					}
					if n > 0 {
						waited[k] = 0
					}
					return n
				}) {
					sum += g.N
				}
				if sum < total {
					for k, n := range work {
						if n > 0 {
							t.Fatalf("%d of %d handed out and key %d still has %d", sum, total, k, n)
						}
					}
				}
				for k, n := range work {
					if n == 0 {
						turns.Remove(k)
						delete(work, k)
					} else if most := (len(work)+10)*quantum + 10*debts + 10*quantum; waited[k] > most {
						t.Fatalf("key %d waited while others got %d (at most %d)", k, waited[k], most)
					}
				}
			}
			if turns.Len() != len(work) {
				t.Fatalf("%d keys known, %d have work", turns.Len(), len(work))
			}
		}
	})
}

func BenchmarkNext(b *testing.B) {
	turns, err := fair.New[int](8)
	if err != nil {
		b.Fatal(err)
	}
	for k := range 1000 {
		turns.Add(k)
	}
	for b.Loop() {
		turns.Next(64, func(_, n int) int { return n })
	}
}
