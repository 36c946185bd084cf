package webhook_test

import (
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/webhook"
)

// The golden value is uuid5(endpoint, delivery ‖ fence ‖ state) of Python's uuid
// module's algorithm: SHA-1 over the same bytes.
func TestEventID(t *testing.T) {
	t.Parallel()
	endpoint, _ := postledger.ParseID("0190a5d2-7c1f-7000-8000-000000000001")
	delivery, _ := postledger.ParseID("0190a5d2-7c1f-7000-8000-000000000002")
	id := webhook.EventID(endpoint, delivery, postledger.StatusSent, 3)
	if got, want := id.String(), "d3f3542c-9ae5-502c-9728-36c858e5076a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	seen := map[postledger.ID]bool{id: true}
	for _, other := range []postledger.ID{
		webhook.EventID(delivery, delivery, postledger.StatusSent, 3),
		webhook.EventID(endpoint, endpoint, postledger.StatusSent, 3),
		webhook.EventID(endpoint, delivery, postledger.StatusFailed, 3),
		webhook.EventID(endpoint, delivery, postledger.StatusSent, 4),
	} {
		if seen[other] {
			t.Errorf("%s names two events", other)
		}
		seen[other] = true
	}
}
