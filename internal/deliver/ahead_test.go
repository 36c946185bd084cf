package deliver_test

import (
	"testing"
	"time"

	"github.com/postledger/postledger/internal/deliver"
)

// Where the hop is slow, no more is leased than the connections need; where it is
// fast, what it takes in a tenth of a second, and never more than six times the
// connections (invariant 9).
func TestHowFarAheadALaneLeases(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name              string
		connections, rate int // settled in a second
		want              int
	}{
		{"nothing was sent yet", 32, 0, 64},
		{"a slow hop", 32, 300, 64},
		{"a fast hop", 32, 1500, 150},
		{"as much as there may be", 32, 9000, 192},
		{"one connection", 1, 9000, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var tempo deliver.Tempo
			now := time.Now()
			tempo.Settled(now, 0)
			for range 100 {
				now = now.Add(10 * time.Millisecond)
				tempo.Settled(now, tc.rate/100)
			}
			if got := tempo.Depth(now, tc.connections, true); got != tc.want {
				t.Errorf("%d may be leased, want %d", got, tc.want)
			}
			if got := tempo.Depth(now, tc.connections, false); got != 2*tc.connections {
				t.Errorf("beside immediate mail %d may be leased, want %d", got, 2*tc.connections)
			}
			// What was fast before it rested is looked at anew.
			if got := tempo.Depth(now.Add(time.Minute), tc.connections, true); got != 2*tc.connections {
				t.Errorf("after a rest %d may be leased, want %d", got, 2*tc.connections)
			}
		})
	}
}

// The bodies that are loaded ahead take no more memory than those of twice the
// connections would (invariant 9).
func TestBodiesLeasedAheadShareTheRoom(t *testing.T) {
	t.Parallel()
	const connections, largest = 32, 256 << 10
	for leased := 1; leased <= 6*connections; leased++ {
		most := deliver.ContentMost(leased, connections)
		if room := int64(2 * connections * largest); most > largest || int64(leased)*most > room || leased <= 2*connections && most < largest {
			t.Errorf("%d leased: bodies of up to %d bytes", leased, most)
		}
	}
}
