package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/postledger/postledger"
)

// Bodies that several messages of a request have are kept once: a row of
// shared_bodies, which their contents name and which counts them. The row is
// written with the contents and goes with the last of them; its bodies never
// change.

// sharedLeast is how large bodies are that are worth a row of their own: below
// it they lie in their contents' rows without TOAST, and reading them is free.
const sharedLeast = 1 << 10

// sharedBody is a row of shared_bodies.
type sharedBody struct {
	// id is that of the first message accepted with it.
	id         postledger.ID
	text, html string
	refs       int64
}

// encodeContents makes the rows of a request's new messages, in their order, and
// of the bodies that several of them have.
func encodeContents(a *answer) (rows []contentColumns, shared []sharedBody, err error) {
	rows = make([]contentColumns, len(a.fresh))
	for k, i := range a.fresh {
		if rows[k], err = encodeContent(&a.req.Messages[i].Content); err != nil {
			return nil, nil, err
		}
	}
	return rows, shareBodies(a, rows), nil
}

// shareBodies takes the bodies that several rows have out of them.
func shareBodies(a *answer, rows []contentColumns) []sharedBody {
	if len(rows) < 2 {
		return nil
	}
	type bodies struct{ text, html string }
	first := make(map[bodies]int, len(rows))
	with := make([][]int, len(rows)) // the rows that have what this one is first with
	for k := range rows {
		if len(rows[k].text)+len(rows[k].html) < sharedLeast {
			continue
		}
		b := bodies{rows[k].text, rows[k].html}
		f, met := first[b]
		if !met {
			f, first[b] = k, k
		}
		with[f] = append(with[f], k)
	}
	var out []sharedBody
	for f, ks := range with {
		if len(ks) < 2 {
			continue
		}
		s := sharedBody{a.req.Messages[a.fresh[f]].Message.ID, rows[f].text, rows[f].html, int64(len(ks))}
		for _, k := range ks {
			rows[k].text, rows[k].html, rows[k].shared = "", "", s.id
		}
		out = append(out, s)
	}
	return out
}

// releaseShared counts contents off that were deleted, and deletes the bodies
// that none has any more. All go in the order of their ids, so that two purges
// with the same bodies wait for each other in one direction only.
func (t *tx) releaseShared(ctx context.Context, gone map[postledger.ID]int64) error {
	if len(gone) == 0 {
		return nil
	}
	ids := make([]postledger.ID, 0, len(gone))
	for id := range gone {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	for _, id := range ids {
		t.queue("count shared bodies off", nil, `UPDATE shared_bodies SET refs = refs - ? WHERE id = ?`, gone[id], id)
	}
	where, args := t.anyOf("id", ids)
	t.queue("delete shared bodies", nil, `DELETE FROM shared_bodies WHERE `+where+` AND refs <= 0`, args...)
	if err := t.flush(ctx); err != nil {
		return fmt.Errorf("release shared bodies: %w", err)
	}
	return nil
}
