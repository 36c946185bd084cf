package app

import (
	"context"
	"io"

	"github.com/postledger/postledger/internal/app/metrics"
	"github.com/postledger/postledger/internal/blob"
	"github.com/postledger/postledger/internal/ledger"
)

// acceptLedger counts what is accepted, and passes the kill point right after
// an accept's commit.
type acceptLedger struct {
	*ledger.Ledger
	metrics  *metrics.Metrics
	refusals *refusals
	kill     func(point string)
}

func (l acceptLedger) Accept(ctx context.Context, r *ledger.AcceptRequest) (ledger.Accepted, error) {
	out, err := l.Ledger.Accept(ctx, r)
	l.refusals.note(err)
	if err != nil {
		return out, err
	}
	l.kill("accept_committed")
	for i := range out.Items {
		if m := &r.Messages[i]; !out.Items[i].Replayed {
			l.metrics.Accepted(m.Message.ProfileName, len(m.Deliveries))
		}
	}
	return out, nil
}

// killBlobs passes the kill point between a stored attachment and its message.
type killBlobs struct {
	blob.Store
	kill func(point string)
}

func (b killBlobs) Put(ctx context.Context, key string, r io.Reader, limit int64) (blob.Info, error) {
	info, err := b.Store.Put(ctx, key, r, limit)
	if err == nil {
		b.kill("accept_blob_stored")
	}
	return info, err
}
