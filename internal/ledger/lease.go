package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/postledger/postledger"
)

// ClaimKey is what claims go by: never over a global order, so that a large
// backlog of one profile or app cannot stand before another's.
type ClaimKey struct {
	Profile postledger.ID
	Lane    postledger.Lane
	App     postledger.ID
}

// Cursor is a place in the due order of one ClaimKey. A claim that starts
// after the last row it took does not walk over the dead index entries before
// it, which a long transaction elsewhere would keep from being cleaned. What
// turns up behind it is found when the caller sets it back, as a [Trail] does.
type Cursor struct {
	Due int64
	ID  postledger.ID
}

// Want asks for up to N deliveries of a key that are due, after a cursor.
// Envelopes are leased whole, so one answer may exceed N by an envelope.
type Want struct {
	Key   ClaimKey
	N     int
	After Cursor
}

// Leased is a delivery whose lease has been committed.
type Leased struct {
	postledger.Delivery
	// Uncharged is how many uncharged returns in a row it has behind it.
	Uncharged int
	// Suppressed says that the app's suppression list held the address when
	// it was leased.
	Suppressed bool
}

// Claimed is the answer to one Want.
type Claimed struct {
	Leased []Leased
	// After is where the next claim may start.
	After Cursor
	// Short says that no more rows are due after the cursor.
	Short bool
	// Beats is the worker's count as the lease's commit moved it; 0 when the
	// lease, over all its claims, met nothing.
	Beats int64
}

// Lease claims deliveries for worker: they are committed as sending, under a
// new fence, when it returns. It claims nothing while the ledger is being
// marked as restored, nor for a worker whose row is missing, has ended, or holds
// less than last, the highest counts that the worker knows were committed: that
// ledger is older than the world (invariant 17), and the next heartbeat says so.
func (l *Ledger) Lease(ctx context.Context, worker postledger.ID, last Counts, wants []Want) ([]Claimed, error) {
	var out []Claimed
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		out = make([]Claimed, len(wants))
		for i := range out {
			out[i].After = wants[i].After
		}
		claim := leaseSQLite
		if t.dialect == postgres {
			claim = leasePostgres
		}
		beats, err := claim(ctx, t, worker, last, wants, out)
		for i := range out {
			out[i].Beats = beats
		}
		return err
	})
	if err != nil {
		// A lease whose COMMIT got no answer may exist: its rows are then
		// found by Leases(worker) and returned by their living owner.
		return nil, fmt.Errorf("lease deliveries: %w", err)
	}
	if l.dialect == postgres {
		l.seen.note(wants, out)
	}
	return out, nil
}

// leasedColumns is what a worker needs of a delivery, in scanLeased's order.
const leasedColumns = `d.id, d.message_id, d.envelope_id, d.app_id, d.profile_id, d.lane, d.kind, d.position,
	d.address, d.display_name, d.fence, d.attempts, d.uncharged, d.created_at, d.leased_at, d.first_charged_at,
	d.expires_at, d.dated_at, d.address_folded,
	EXISTS (SELECT 1 FROM suppressions s WHERE s.app_id = d.app_id AND s.address_folded = d.address_folded)`

// leasedColumnsSQLite is the same list for RETURNING, which knows the table
// by its name.
var leasedColumnsSQLite = strings.ReplaceAll(leasedColumns, "d.", "deliveries.")

// leasedDest is where leasedColumns scan to.
func leasedDest(d *Leased) []any {
	return []any{
		idColumn{&d.ID},
		idColumn{&d.MessageID},
		idColumn{&d.EnvelopeID},
		idColumn{&d.AppID},
		idColumn{&d.ProfileID},
		textColumn[postledger.Lane]{&d.Lane},
		textColumn[postledger.RecipientKind]{&d.Kind},
		intColumn[int]{&d.Position},
		textColumn[string]{&d.Address},
		textColumn[string]{&d.DisplayName},
		intColumn[int64]{&d.Fence},
		intColumn[int]{&d.Attempts},
		intColumn[int]{&d.Uncharged},
		timeColumn{&d.CreatedAt},
		timeColumn{&d.LeasedAt},
		timeColumn{&d.FirstChargedAt},
		timeColumn{&d.ExpiresAt},
		timeColumn{&d.DatedAt},
		textColumn[string]{&d.AddressFolded},
		&d.Suppressed,
	}
}

func scanLeased(r row) (Leased, error) {
	d := Leased{Delivery: postledger.Delivery{Status: postledger.StatusSending}}
	err := r.Scan(leasedDest(&d)...)
	return d, err
}

// Leases lists the deliveries a worker holds, in id order after a cursor.
func (l *Ledger) Leases(ctx context.Context, worker, after postledger.ID, limit int) ([]Leased, error) {
	var out []Leased
	err := l.rows(ctx, func(r row) error {
		d, err := scanLeased(r)
		out = append(out, d)
		return err
	}, `SELECT `+leasedColumns+` FROM deliveries d WHERE d.lease_worker = ? AND d.id > ? ORDER BY d.id LIMIT ?`,
		worker, after[:], limit)
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	return out, nil
}
