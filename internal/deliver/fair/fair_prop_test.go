package fair_test

import (
	"math/rand/v2"
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

// Keys that share a limit which has room for a few at a time, always fewer than
// a turn, get the same, whatever the other keys of the round do.
func TestLittleRoomIsSharedInTurns(t *testing.T) {
	const quantum = 8
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		turns, err := fair.New[[2]int](quantum)
		if err != nil {
			t.Fatal(err)
		}
		groups := 1 + rnd.IntN(4)
		members := make([]int, groups)
		for g := range groups {
			members[g] = 1 + rnd.IntN(5)
		}
		var keys [][2]int
		for g, n := range members {
			for i := range n {
				keys = append(keys, [2]int{g, i})
			}
		}
		rnd.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for _, k := range keys {
			turns.Add(k)
		}
		got := map[[2]int]int{}
		for range 500 {
			room := make([]int, groups)
			for g := range room {
				room[g] = rnd.IntN(quantum)
			}
			for _, grant := range turns.Next(500, func(k [2]int, n int) int {
				n = min(n, room[k[0]])
				room[k[0]] -= n
				return n
			}) {
				got[grant.Key] += grant.N
			}
		}
		for g, n := range members {
			for i := range n {
				if share, first := got[[2]int{g, i}], got[[2]int{g, 0}]; share < first-quantum || share > first+quantum {
					t.Fatalf("seed %d, group %d of %d: %v", seed, g, n, got)
				}
			}
		}
	}
}
