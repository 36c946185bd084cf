package deliver_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// A delivery that somebody held when the claims came by lies behind them when it
// is free: it is sent seconds later, and does not wait for the next whole look.
func TestWhatAClaimMetLockedIsSentWhenItIsFree(t *testing.T) {
	t.Parallel()
	url := postgres(t)
	r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, url) }, transporttest.HopConfig{}, nil)
	held := r.Send([]string{"held@rcpt.example"})[0]
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { conn.Close(t.Context()) })
	tx, err := conn.Begin(t.Context())
	must(t, err)
	var id postledger.ID
	must(t, tx.QueryRow(t.Context(), `SELECT id FROM deliveries WHERE id = $1 FOR UPDATE`, held).Scan(&id))
	r.start()
	for range 3 {
		r.settled(r.Send([]string{"free@rcpt.example"})...)
	}
	if s := r.Row(held).Status; s != postledger.StatusQueued {
		t.Fatalf("the one that is held is %s", s)
	}
	must(t, tx.Rollback(t.Context()))
	if d := r.settled(held)[0]; d.Status != postledger.StatusSent {
		t.Errorf("it is %s", d.Status)
	}
	r.balanced()
}
