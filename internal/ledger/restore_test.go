package ledger_test

import (
	"testing"

	"github.com/postledger/postledger/internal/ledger/ledgertest"
)

func TestRestore(t *testing.T) {
	bothDatabases(t, func(t *testing.T, open ledgertest.Opener) { ledgertest.Restore(t, open, exec) })
}
