package ledger_test

import (
	"testing"

	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/jobs"
)

func TestWebhooks(t *testing.T) { bothDatabases(t, ledgertest.Webhooks) }

func TestAnnounce(t *testing.T) {
	bothDatabases(t, func(t *testing.T, open ledgertest.Opener) {
		ledgertest.Announce(t, open, func(t *testing.T, l *ledger.Ledger) []jobs.Row {
			t.Helper()
			rows, _, err := outboxOf(t, l).List(t.Context(), jobs.Query{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			return rows
		})
	})
}
