// Package hottest is what every hot driver must pass: call Run from the driver's
// own test.
package hottest

import (
	"testing"

	"github.com/postledger/postledger/jobs"
)

// Open makes an empty set that is gone when the test has ended. The function it
// returns gives a handle to the set, as another process has one; each is closed
// by the suite.
type Open func(tb testing.TB, limits jobs.Limits) (handle func() jobs.Hot)

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"order", testOrder},
		{"bounds", testBounds},
		{"flags", testFlags},
		{"drain", testDrain},
		{"groups", testGroups},
		{"leases", testLeases},
		{"returns", testReturns},
		{"keys", testKeys},
		{"waiting", testWaiting},
		{"content", testContent},
		{"crowd", testCrowd},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(t, open)
		})
	}
}
