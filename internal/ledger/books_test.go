package ledger_test

import (
	"testing"

	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
)

// exec breaks a ledger by one statement that must hit something.
func exec(t *testing.T, l *ledger.Ledger, query string, args ...any) {
	t.Helper()
	n, err := l.ExecRaw(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if n == 0 {
		t.Fatalf("%s: hit no row", query)
	}
}

// told runs a statement that a view passes on: SQLite then says that it hit none.
func told(t *testing.T, l *ledger.Ledger, query string, args ...any) {
	t.Helper()
	if _, err := l.ExecRaw(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func TestBooks(t *testing.T) {
	bothDatabases(t, func(t *testing.T, open ledgertest.Opener) { ledgertest.Books(t, open, exec) })
}

func TestRetention(t *testing.T) {
	bothDatabases(t, func(t *testing.T, open ledgertest.Opener) { ledgertest.Retention(t, open, exec) })
}

func TestEarlierBinary(t *testing.T) {
	bothDatabases(t, func(t *testing.T, open ledgertest.Opener) { ledgertest.Earlier(t, open, exec) })
}

func TestSharedBodies(t *testing.T) {
	bothDatabases(t, func(t *testing.T, open ledgertest.Opener) { ledgertest.Shared(t, open, exec, told) })
}
