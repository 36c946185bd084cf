package sqlbox

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/postledger/postledger/jobs"
)

// GiveBack implements jobs.OutboxRows.
func (b *Box) GiveBack(ctx context.Context, given []jobs.GivenBack) error {
	if len(given) == 0 {
		return nil
	}
	return b.write(ctx, "give jobs back", func(s *session) error {
		for part := range chunks(given) {
			if err := s.giveBack(part); err != nil {
				return err
			}
		}
		return nil
	})
}

// rowMark is what decides about a row that is there.
type rowMark struct {
	rev   int64
	state int
}

func (s *session) giveBack(given []jobs.GivenBack) error {
	marks, err := s.marks(given)
	if err != nil {
		return err
	}
	records, now := make([]Record, 0, len(given)), time.Now()
	for i := range given {
		g := &given[i]
		mark, there := marks[g.ID]
		switch {
		case there && (mark.rev != g.Rev || mark.state == quarantined):
			continue // another revision's, or set aside by a person
		case !there && g.Durable:
			continue // its row stays until it has finished: it has
		}
		record := Record{Entry: g.Entry, State: quarantined, Reason: reasonText(g.Reason)}
		if g.State == jobs.Buffered {
			record.State = stateAt(g.RunAt, now)
		}
		records = append(records, record)
	}
	records, err = s.withoutSuperseded(records, marks)
	if err != nil {
		return err
	}
	for part := range recordChunks(records) {
		statement, args := s.d.Insert(part, GiveBack)
		if _, err := s.exec(statement, args...); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) marks(given []jobs.GivenBack) (map[jobs.ID]rowMark, error) {
	ids := make([]jobs.ID, len(given))
	for i := range given {
		ids[i] = given[i].ID
	}
	marks := make(map[jobs.ID]rowMark, len(given))
	condition, args := s.d.IDs(ids)
	err := s.each("SELECT id, rev, state FROM job_outbox WHERE "+condition+" ORDER BY place"+s.d.ForUpdate(), args,
		func(rows *sql.Rows) (bool, error) {
			var (
				id   jobs.ID
				mark rowMark
			)
			err := rows.Scan(&id, &mark.rev, &mark.state)
			marks[id] = mark
			return true, err
		})
	return marks, err
}

// withoutSuperseded leaves out what is to be buffered under a key that has a
// newer job, and removes its row.
func (s *session) withoutSuperseded(records []Record, marks map[jobs.ID]rowMark) ([]Record, error) {
	newest := map[Key]*Record{}
	for i := range records {
		r := &records[i]
		if r.DedupeKey == "" || r.State == quarantined {
			continue
		}
		key := Key{r.Handler, r.DedupeKey}
		if before := newest[key]; before == nil || !r.EnqueuedAt.Before(before.EnqueuedAt) {
			newest[key] = r
		}
	}
	if len(newest) == 0 {
		return records, nil
	}
	keys := make([]Key, 0, len(newest))
	for key := range newest {
		keys = append(keys, key)
	}
	buffered, err := s.bufferedOf(keys)
	if err != nil {
		return nil, err
	}
	var old []jobs.Ref
	kept := slices.DeleteFunc(slices.Clone(records), func(r Record) bool {
		if r.DedupeKey == "" || r.State == quarantined {
			return false
		}
		key := Key{r.Handler, r.DedupeKey}
		other, waits := buffered[key]
		if newest[key].ID == r.ID && (!waits || other == r.ID) {
			return false
		}
		if _, there := marks[r.ID]; there {
			old = append(old, r.Ref())
		}
		return true
	})
	_, err = s.byRefs(RemoveRefs, nil, inOrder(old))
	return kept, err
}
