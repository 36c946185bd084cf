package sqlbox

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/postledger/postledger/jobs"
)

// Rebuffer implements jobs.OutboxRows.
func (b *Box) Rebuffer(ctx context.Context, refs []jobs.Ref) (n int, err error) {
	if len(refs) == 0 {
		return 0, nil
	}
	refs = inOrder(refs)
	err = b.write(ctx, "rebuffer jobs", func(s *session) error {
		n = 0
		for part := range chunks(refs) {
			condition, args := b.d.Refs(part)
			changed, err := s.rebuffer(condition+" AND state + 0 = 2", args, "state = CASE WHEN run_at > "+b.d.Now()+" THEN 1 ELSE 0 END, epoch = ''")
			if err != nil {
				return err
			}
			n += changed
		}
		return nil
	})
	return n, err
}

// RebufferEpoch implements jobs.OutboxRows.
func (b *Box) RebufferEpoch(ctx context.Context, epoch string, limit int) (int, error) {
	var refs []jobs.Ref
	err := b.reader(ctx).each(`SELECT id, rev FROM job_outbox WHERE state = 2 AND epoch <> ? LIMIT ?`,
		[]any{epoch, limit}, func(rows *sql.Rows) (bool, error) {
			var ref jobs.Ref
			err := rows.Scan(&ref.ID, &ref.Rev)
			refs = append(refs, ref)
			return true, err
		})
	if err != nil {
		return 0, fmt.Errorf("read admitted jobs of other epochs: %w", err)
	}
	if _, err := b.Rebuffer(ctx, refs); err != nil {
		return 0, err
	}
	return len(refs), nil
}

// Release implements jobs.OutboxQuarantine.
func (b *Box) Release(ctx context.Context, ids []jobs.ID) (n int, err error) {
	err = b.write(ctx, "release jobs", func(s *session) error {
		n = 0
		for part := range chunks(ids) {
			condition, args := b.d.IDs(part)
			changed, err := s.rebuffer(condition+" AND state + 0 = 3", args,
				"state = 0, epoch = '', attempts = 0, refused = 0, run_at = 0, reason = ''")
			if err != nil {
				return err
			}
			n += changed
		}
		return nil
	})
	return n, err
}

// rebuffer makes the rows that hold a condition buffered, by what is set.
// Of those with one key the newest stays, unless a newer one is buffered already:
// the others were superseded, and their rows go.
func (s *session) rebuffer(condition string, args []any, set string) (int, error) {
	keyed, err := s.keyed(condition, args)
	if err != nil {
		return 0, err
	}
	if len(keyed) > 0 {
		old, err := s.superseded(keyed)
		if err != nil {
			return 0, err
		}
		if _, err := s.byRefs(RemoveRefs, nil, old); err != nil {
			return 0, err
		}
	}
	return s.exec("UPDATE job_outbox SET changed_at = "+s.d.Now()+", "+set+" WHERE "+condition, args...)
}

// keyedRow is a row with a dedupe key.
type keyedRow struct {
	jobs.Ref
	Key
}

// keyed are the rows with a key that hold a condition, in the order of place.
func (s *session) keyed(condition string, args []any) ([]keyedRow, error) {
	var found []keyedRow
	err := s.each("SELECT id, rev, handler, dedupe_key FROM job_outbox WHERE "+condition+
		" AND dedupe_key IS NOT NULL ORDER BY place"+s.d.ForUpdate(), args, func(rows *sql.Rows) (bool, error) {
		var row keyedRow
		err := rows.Scan(&row.ID, &row.Rev, &row.Handler, &row.Dedupe)
		found = append(found, row)
		return true, err
	})
	return found, err
}

// superseded are those of the rows, oldest first, that have a newer one: among
// themselves, or buffered.
func (s *session) superseded(rows []keyedRow) ([]jobs.Ref, error) {
	newest := map[Key]jobs.Ref{}
	var old []jobs.Ref
	for _, row := range rows {
		if before, ok := newest[row.Key]; ok {
			old = append(old, before)
		}
		newest[row.Key] = row.Ref
	}
	keys := make([]Key, 0, len(newest))
	for key := range newest {
		keys = append(keys, key)
	}
	buffered, err := s.bufferedOf(keys)
	if err != nil {
		return nil, err
	}
	for key, id := range buffered {
		if ref := newest[key]; ref.ID != id {
			old = append(old, ref)
		}
	}
	return inOrder(old), nil
}

// bufferedOf finds the buffered rows of keys.
func (s *session) bufferedOf(keys []Key) (map[Key]jobs.ID, error) {
	found := map[Key]jobs.ID{}
	for part := range chunks(keys) {
		condition, args := s.d.Keys(part)
		err := s.each("SELECT id, handler, dedupe_key FROM job_outbox WHERE "+condition+" AND state IN (0, 1)", args,
			func(rows *sql.Rows) (bool, error) {
				var (
					id  jobs.ID
					key Key
				)
				err := rows.Scan(&id, &key.Handler, &key.Dedupe)
				found[key] = id
				return true, err
			})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
