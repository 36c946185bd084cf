package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// DeliveryFacts is what can be told of a delivery beside why and when it came into a
// state.
type DeliveryFacts struct {
	ID        postledger.ID
	MessageID postledger.ID
	BatchID   postledger.ID
	AppID     postledger.ID
	Status    postledger.Status
	Reason    postledger.Reason
	Fence     int64
	Attempts  int
	Resent    bool
	Kind      postledger.RecipientKind
	Address   string
	Response  string
	SettledAt time.Time
	Profile   string
	Lane      postledger.Lane
	Category  postledger.Category
	RefScope  string
	RefID     string
}

// DeliveryFactsOf reads deliveries by primary key, with what stands in their
// messages. One that retention has removed is missing.
func (l *Ledger) DeliveryFactsOf(ctx context.Context, ids []postledger.ID) (map[postledger.ID]DeliveryFacts, error) {
	out := make(map[postledger.ID]DeliveryFacts, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	where, args := l.read().anyOfUncounted("d.id", ids)
	err := l.rows(ctx, func(r row) error {
		var f DeliveryFacts
		err := r.Scan(idColumn{&f.ID}, idColumn{&f.MessageID}, idColumn{&f.BatchID}, idColumn{&f.AppID},
			&f.Status, &f.Reason, &f.Fence, &f.Attempts, &f.Resent, &f.Kind, &f.Address, &f.Response, timeColumn{&f.SettledAt},
			&f.Profile, &f.Lane, &f.Category, &f.RefScope, &f.RefID)
		out[f.ID] = f
		return err
	}, `SELECT d.id, d.message_id, m.batch_id, d.app_id, d.status, d.reason, d.fence, d.attempts, d.resent, d.kind, d.address, d.response,
			d.settled_at, m.profile_name, d.lane, m.category, m.ref_scope, m.ref_id
		FROM deliveries d JOIN messages m ON m.id = d.message_id WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read what deliveries became: %w", err)
	}
	return out, nil
}

// SelectSettled walks a filter's deliveries that are in one of its states, all of
// them settled ones, oldest first.
func (l *Ledger) SelectSettled(ctx context.Context, f Filter, after Mark, limit int) (Selection, error) {
	for _, s := range f.Statuses {
		if !s.Settled() {
			return Selection{}, fmt.Errorf("select deliveries: %w", &FilterError{"status", string(s) + " is not settled"})
		}
	}
	if len(f.Statuses) == 0 {
		return Selection{}, fmt.Errorf("select deliveries: %w", &FilterError{"status", "is missing"})
	}
	return l.selectIDs(ctx, f, after, limit)
}

// MarshalText makes a mark a part of a job's payload.
func (m Mark) MarshalText() ([]byte, error) {
	return []byte(m.major.String() + "." + m.id.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (m *Mark) UnmarshalText(text []byte) error {
	const size = 36
	if len(text) != 2*size+1 || text[size] != '.' {
		return fmt.Errorf("%q is no mark", text)
	}
	var out Mark
	if err := out.major.UnmarshalText(text[:size]); err != nil {
		return err
	}
	if err := out.id.UnmarshalText(text[size+1:]); err != nil {
		return err
	}
	*m = out
	return nil
}
