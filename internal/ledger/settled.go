package ledger

import (
	"context"
	"database/sql"
	"slices"

	"github.com/postledger/postledger"
)

// A message is settled when all its deliveries are, at the time of the last.
// Nothing of that is written: a settle changes deliveries only, which is a
// quarter of what it would cost otherwise.
//
// Its row has two columns about it all the same, for binaries of schema 2 and
// before that work beside this one: they count unsettled down, set settled_at
// with the last, and purge content by settled_at alone. So a delivery that is
// open again raises the count and clears the time, as it does there. unsettled
// is then never less than the open deliveries, and settled_at is set only while
// none is: they leave what we settled to us, and purge nothing that is open.

// settledAt is when the message m was settled, NULL while a delivery is open.
const settledAt = `(SELECT CASE WHEN count(*) = count(s.settled_at) THEN max(s.settled_at) END FROM deliveries s WHERE s.message_id = m.id)`

// fillSettled reads when the messages of a list's page were settled: apart from
// the list, which may read many more rows than it keeps.
func (t *tx) fillSettled(ctx context.Context, ms []keyed[postledger.Message]) error {
	if len(ms) == 0 {
		return nil
	}
	at := make(map[postledger.ID]*postledger.Message, len(ms))
	ids := make([]postledger.ID, len(ms))
	for i := range ms {
		m := &ms[i].item
		at[m.ID], ids[i] = m, m.ID
	}
	where, args := t.anyOf("d.message_id", ids)
	return t.each(ctx, func(rows *sql.Rows) error {
		var id postledger.ID
		var us int64
		err := rows.Scan(&id, &us)
		at[id].SettledAt = fromMicros(us)
		return err
	}, `SELECT d.message_id, max(d.settled_at) FROM deliveries d WHERE `+where+`
		GROUP BY d.message_id HAVING count(*) = count(d.settled_at)`, args...)
}

// settledWith is when a message with these deliveries, all that it has, was
// settled.
func settledWith(m *postledger.Message, ds []postledger.Delivery) {
	for i := range ds {
		if ds[i].SettledAt.IsZero() {
			return
		}
	}
	for i := range ds {
		if ds[i].SettledAt.After(m.SettledAt) {
			m.SettledAt = ds[i].SettledAt
		}
	}
}

// reopened counts the deliveries of each message that are open again, sorted
// for the lock order.
func reopened(changes []change) ([]postledger.ID, []int32) {
	var ids []postledger.ID
	sums := map[postledger.ID]int32{}
	for i := range changes {
		c := &changes[i]
		if !c.row.status.Settled() || c.to.Settled() {
			continue
		}
		if sums[c.row.message]++; sums[c.row.message] == 1 {
			ids = append(ids, c.row.message)
		}
	}
	slices.SortFunc(ids, compareIDs)
	ns := make([]int32, len(ids))
	for i, id := range ids {
		ns[i] = sums[id]
	}
	return ids, ns
}
