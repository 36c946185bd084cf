package sqlbox

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Insert implements jobs.OutboxRows.
func (b *Box) Insert(ctx context.Context, rows []jobs.Insertion) ([]jobs.Inserted, error) {
	plan := planInsert(rows, time.Now())
	var out []jobs.Inserted
	// Nearly always every plain row is new, and a count says so. When it does not,
	// the transaction runs again and asks which.
	ask := false
	if b.own && b.d.Alone() && plan.lone() {
		fresh := make(map[jobs.ID]int64, len(rows))
		err := b.reader(ctx).insertNew(plan.plain, fresh)
		switch {
		case err == nil:
			return plan.answers(fresh, nil), nil
		case !b.d.Transient(err):
			return nil, fmt.Errorf("insert jobs: %w", err)
		}
		ask = true
	}
	err := b.write(ctx, "insert jobs", func(s *session) error {
		fresh := make(map[jobs.ID]int64, len(rows))
		for _, part := range plan.parts() {
			var err error
			if part.conflict == Ignore && !ask {
				err = s.insertNew(part.rows, fresh)
			} else {
				err = s.insert(part.rows, part.conflict, fresh)
			}
			if err != nil {
				ask = ask || errors.Is(err, errRaced) || b.d.Transient(err)
				return err
			}
		}
		known, err := s.revisions(plan.missing(fresh))
		if err != nil {
			return err
		}
		out = plan.answers(fresh, known)
		return nil
	})
	return out, err
}

// InsertTx implements jobs.OutboxRows.
func (b *Box) InsertTx(ctx context.Context, tx jobs.Tx, rows []jobs.Entry) error {
	insertions := make([]jobs.Insertion, len(rows))
	for i, row := range rows {
		row.Durable = true
		insertions[i].Entry = row
	}
	plan := planInsert(insertions, time.Now())
	for _, part := range plan.parts() {
		for rows := range recordChunks(part.rows) {
			statement, args := b.d.Insert(rows, part.conflict)
			if err := tx.Exec(ctx, b.d.Bind(statement), args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// insertPlan is what one call writes: each id once, and each key once, because
// no statement can change a row twice.
type insertPlan struct {
	order []jobs.ID // of the call
	plain []Record
	keyed []Record
	// instead names, for an id that another of this call replaced at once, the
	// one that did.
	instead map[jobs.ID]jobs.ID
}

func planInsert(rows []jobs.Insertion, now time.Time) insertPlan {
	plan := insertPlan{order: make([]jobs.ID, 0, len(rows)), instead: map[jobs.ID]jobs.ID{}}
	seen := make(map[jobs.ID]bool, len(rows))
	last := map[Key]int{}
	for i := range rows {
		row := &rows[i]
		plan.order = append(plan.order, row.ID)
		if seen[row.ID] {
			continue
		}
		seen[row.ID] = true
		record := Record{Entry: row.Entry, State: stateAt(row.RunAt, now)}
		record.Rev = 1
		if row.DedupeKey == "" {
			if row.Epoch != "" {
				record.State, record.Epoch = admitted, row.Epoch
			}
			plan.plain = append(plan.plain, record)
			continue
		}
		key := Key{row.Handler, row.DedupeKey}
		if at, twice := last[key]; twice {
			old := plan.keyed[at]
			record.Durable = record.Durable || old.Durable
			plan.instead[old.ID] = record.ID
			plan.keyed[at] = record
			continue
		}
		last[key] = len(plan.keyed)
		plan.keyed = append(plan.keyed, record)
	}
	// By key, so that two calls with the same keys wait for each other in one
	// order. Keyed jobs are promised no order of their own.
	slices.SortStableFunc(plan.keyed, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Handler, b.Handler), cmp.Compare(a.DedupeKey, b.DedupeKey))
	})
	return plan
}

// stateAt is a buffered row's state. The producer's clock decides it for the
// moment; Ripen has the database's.
func stateAt(runAt, now time.Time) int {
	if runAt.After(now) {
		return scheduled
	}
	return waiting
}

type insertPart struct {
	rows     []Record
	conflict Conflict
}

func (p *insertPlan) parts() []insertPart {
	return []insertPart{{p.plain, Ignore}, {p.keyed, Replace}}
}

// lone tells that the plan is one statement.
func (p *insertPlan) lone() bool {
	if len(p.keyed) > 0 || len(p.plain) == 0 || len(p.plain) > chunk {
		return false
	}
	size := 0
	for i := range p.plain {
		size += len(p.plain[i].Payload)
	}
	return size <= statementBytes
}

// missing are the ids that were planned and not written.
func (p *insertPlan) missing(fresh map[jobs.ID]int64) []jobs.ID {
	var ids []jobs.ID
	for _, part := range p.parts() {
		for i := range part.rows {
			if _, ok := fresh[part.rows[i].ID]; !ok {
				ids = append(ids, part.rows[i].ID)
			}
		}
	}
	return ids
}

func (p *insertPlan) answers(fresh, known map[jobs.ID]int64) []jobs.Inserted {
	out := make([]jobs.Inserted, len(p.order))
	told := make(map[jobs.ID]bool, len(p.order))
	for i, id := range p.order {
		written := id
		for next, ok := p.instead[written]; ok; next, ok = p.instead[written] {
			written = next
		}
		rev, isFresh := fresh[written]
		if !isFresh {
			rev = known[written]
		}
		out[i] = jobs.Inserted{Ref: jobs.Ref{ID: id, Rev: rev}, Fresh: isFresh && !told[id]}
		told[id] = true
	}
	return out
}

// insertNew writes rows that should all be new: when one was there, what was
// written is not known.
func (s *session) insertNew(rows []Record, fresh map[jobs.ID]int64) error {
	for part := range recordChunks(rows) {
		statement, args := s.d.Insert(part, Fresh)
		written, err := s.exec(statement, args...)
		if err != nil {
			return err
		}
		if written != len(part) {
			return errRaced
		}
		for i := range part {
			fresh[part[i].ID] = part[i].Rev
		}
	}
	return nil
}

// insert writes rows and puts into fresh what was written.
func (s *session) insert(rows []Record, conflict Conflict, fresh map[jobs.ID]int64) error {
	for part := range recordChunks(rows) {
		statement, args := s.d.Insert(part, conflict)
		if s.d.Returning() {
			if err := s.each(statement+" RETURNING id, rev", args, scanRefs(fresh)); err != nil {
				return err
			}
			continue
		}
		if err := s.insertAndCompare(part, conflict, statement, args, fresh); err != nil {
			return err
		}
	}
	return nil
}

// insertAndCompare is for a database that does not tell which rows it wrote: the
// ids that were there before are those that were not.
func (s *session) insertAndCompare(rows []Record, conflict Conflict, statement string, args []any, fresh map[jobs.ID]int64) error {
	ids := make([]jobs.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	before, err := s.revisions(ids)
	if err != nil {
		return err
	}
	written, err := s.exec(statement, args...)
	if err != nil {
		return err
	}
	after, err := s.revisions(ids)
	if err != nil {
		return err
	}
	count := 0
	for id, rev := range after {
		if _, was := before[id]; !was {
			fresh[id] = rev
			count++
		}
	}
	if conflict == Ignore && count != written {
		return errRaced // another wrote one of them between the two looks
	}
	return nil
}

func scanRefs(into map[jobs.ID]int64) func(*sql.Rows) (bool, error) {
	return func(rows *sql.Rows) (bool, error) {
		var ref jobs.Ref
		if err := rows.Scan(&ref.ID, &ref.Rev); err != nil {
			return false, err
		}
		into[ref.ID] = ref.Rev
		return true, nil
	}
}

// revisions are the revisions of the ids that have a row.
func (s *session) revisions(ids []jobs.ID) (map[jobs.ID]int64, error) {
	found := make(map[jobs.ID]int64, len(ids))
	for part := range chunks(ids) {
		condition, args := s.d.IDs(part)
		if err := s.each("SELECT id, rev FROM job_outbox WHERE "+condition, args, scanRefs(found)); err != nil {
			return nil, err
		}
	}
	return found, nil
}
