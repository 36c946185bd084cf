package accept

import (
	"context"
	"errors"
	"time"

	"github.com/postledger/postledger/internal/ledger"
)

// once answers for a draft whose key may be known, or be in another racer's
// hands at this moment. fill, when set, completes a draft whose key is new.
//
// The transaction looks at the key anyway, so a request that is nothing but
// rows is not looked up before it. It is where the key must be known earlier:
// before content is read or stored (a known key answers without), and before a
// refusal (a known key answers although the request would be refused now).
func (s *Service) once(ctx context.Context, c Caller, d *draft, fill func(context.Context) error) (Receipt, error) {
	first := func() (Receipt, error) {
		if fill != nil {
			if err := fill(ctx); err != nil {
				return Receipt{}, refuse(err)
			}
		}
		return s.first(ctx, c, d)
	}
	key := d.req.Key
	if key == "" {
		return first()
	}
	return s.flights.do(ctx, flightKey{d.app, key}, d.fingerprint, func() (Receipt, error) {
		if fill != nil || len(d.req.Attachments) > 0 {
			if rec, known, err := s.known(ctx, d); known || err != nil {
				return rec, err
			}
		}
		rec, err := first()
		if err == nil || d.looked {
			return rec, err
		}
		return s.unlessKnown(ctx, d, err)
	})
}

// known answers for a draft whose key is known. It asks once: what the answer
// was a moment ago is good enough for whatever comes before the transaction.
func (s *Service) known(ctx context.Context, d *draft) (Receipt, bool, error) {
	if d.looked || d.req.Key == "" {
		return Receipt{}, false, nil
	}
	d.looked = true
	item, ok, err := s.lookUp(ctx, d)
	if err != nil || !ok {
		return Receipt{}, false, err
	}
	rec, err := single(item)
	return rec, true, err
}

func (s *Service) lookUp(ctx context.Context, d *draft) (ledger.AcceptedItem, bool, error) {
	found, err := s.Ledger.LookupKeys(ctx, d.app, []string{d.req.Key}, []string{d.fingerprint})
	if err != nil {
		return ledger.AcceptedItem{}, false, refuse(err)
	}
	item, ok := found[0]
	return item, ok, nil
}

// lookTimeout bounds the look after a refusal: that may have been the ledger's
// own timeout, and its caller has waited once.
const lookTimeout = 10 * time.Second

// unlessKnown is the answer to a request that was refused before its key was
// looked at: the key's own if it is known, else the refusal.
func (s *Service) unlessKnown(ctx context.Context, d *draft, refusal error) (Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	item, ok, err := s.lookUp(ctx, d)
	var down *UnavailableError
	unavailable := errors.As(refusal, &down)
	switch {
	case err != nil && CodeOf(err) == CodeUnavailable && unavailable:
		return Receipt{}, refusal // it may name the message whose fate is unknown
	case err != nil:
		return Receipt{}, err
	case !ok:
		return Receipt{}, refusal
	case unavailable && down.FateUnknown && item.MessageID == down.MessageID:
		// It is this request's own, seen before its commit was certain to
		// the ledger. The caller is told to repeat it, and gets the replay.
		return Receipt{}, refusal
	default:
		// A transaction of unknown fate may also have held this request as
		// one that was known before: then it is answered as such.
		return single(item)
	}
}

// single is the answer for one message.
func single(item ledger.AcceptedItem) (Receipt, error) {
	if item.Gone {
		return Receipt{}, ErrMessageGone
	}
	return receipt(item), nil
}

func receipt(item ledger.AcceptedItem) Receipt {
	return Receipt{MessageID: item.MessageID, BatchID: item.BatchID, Replayed: item.Replayed, Gone: item.Gone}
}
