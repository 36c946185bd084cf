package deliver

import (
	"context"

	"github.com/postledger/postledger/internal/ledger"
)

// settling is the settler's store: a settle's commit is noted in the journal
// before the records of what it settled are freed.
type settling struct{ w *Worker }

// Settle implements settle.Store.
func (s settling) Settle(ctx context.Context, ss []ledger.Settlement) ([]ledger.Settled, error) {
	out, settles, err := s.w.c.Ledger.SettleBy(ctx, s.w.id, s.w.life.known(), ss)
	if err != nil {
		return nil, err
	}
	if err := s.w.life.committed(ledger.Counts{Settles: settles}); err != nil {
		s.w.fail(err)
	}
	return out, nil
}
