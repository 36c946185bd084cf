package webhook

import (
	"slices"

	"github.com/postledger/postledger"
)

// States are those that an endpoint can be told of: all in which a delivery is
// settled, in the order of its life.
func States() []postledger.Status {
	return slices.DeleteFunc(postledger.Statuses(), func(s postledger.Status) bool { return !s.Settled() })
}
