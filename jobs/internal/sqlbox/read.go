package sqlbox

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/postledger/postledger/jobs"
)

// readColumns are a row's, in the order of scanRow.
const readColumns = `place, id, rev, state, lane, grp, handler, dedupe_key, kind, bypass, durable, payload,
	run_at, max_attempts, timeout_us, attempts, enqueued_at, refused, reason, epoch, changed_at`

func scanRow(rows *sql.Rows) (jobs.Row, error) {
	var (
		r                                   jobs.Row
		state, lane, kind, bypass, durable  int
		runAt, timeout, enqueued, changedAt int64
		key                                 sql.NullString
	)
	err := rows.Scan(&r.Place, &r.ID, &r.Rev, &state, &lane, &r.Group, &r.Handler, &key, &kind, &bypass, &durable, &r.Payload,
		&runAt, &r.MaxAttempts, &timeout, &r.Attempts, &enqueued, &r.Refused, &r.Reason, &r.Epoch, &changedAt)
	if err != nil {
		return r, fmt.Errorf("scan row: %w", err)
	}
	r.State, r.Lane, r.Kind, r.DedupeKey = stateOf(state), laneOf(lane), jobs.Kind(kind), key.String
	r.Bypass, r.Durable = bypass != 0, durable != 0
	r.RunAt, r.Timeout = fromMicros(runAt), time.Duration(timeout)*time.Microsecond
	if r.Payload == nil {
		r.Payload = []byte{} // some drivers' empty value
	}
	r.EnqueuedAt, r.ChangedAt = fromMicros(enqueued), fromMicros(changedAt)
	return r, nil
}

// collect reads rows until their payloads exceed the bytes, if there is a bound;
// the first comes always.
func (s *session) collect(query string, args []any, most int64) ([]jobs.Row, error) {
	var (
		found []jobs.Row
		size  int64
	)
	err := s.each(query, args, func(rows *sql.Rows) (bool, error) {
		row, err := scanRow(rows)
		if err != nil {
			return false, err
		}
		size += int64(len(row.Payload))
		if most > 0 && len(found) > 0 && size > most {
			return false, nil
		}
		found = append(found, row)
		return true, nil
	})
	return found, err
}

// WaitingQuery is the statement of Waiting: lane, group, after, limit.
const WaitingQuery = `SELECT ` + readColumns + ` FROM job_outbox
	WHERE state = 0 AND lane = ? AND grp = ? AND place > ? ORDER BY place LIMIT ?`

// Waiting implements jobs.OutboxRows.
func (b *Box) Waiting(ctx context.Context, page jobs.Page) ([]jobs.Row, error) {
	rows, err := b.reader(ctx).collect(WaitingQuery,
		[]any{LaneNumber(page.Lane), page.Group, page.After, page.Limit}, page.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read waiting jobs: %w", err)
	}
	return rows, nil
}

// GroupsQuery is the statement of WaitingGroups: lane, after, lane, limit, limit.
// It steps from one name to the next in the index, however many rows a group has.
const GroupsQuery = `WITH RECURSIVE g (grp, n) AS (
	SELECT min(grp), 1 FROM job_outbox WHERE state = 0 AND lane = ? AND grp > ?
	UNION ALL
	SELECT (SELECT min(o.grp) FROM job_outbox o WHERE o.state = 0 AND o.lane = ? AND o.grp > g.grp), g.n + 1
	FROM g WHERE g.grp IS NOT NULL AND g.n < ?
) SELECT grp FROM g WHERE grp IS NOT NULL ORDER BY n LIMIT ?`

// mostGroups is below the depth to which MySQL recurses.
const mostGroups = 500

// WaitingGroups implements jobs.OutboxRows.
func (b *Box) WaitingGroups(ctx context.Context, lane jobs.Lane, after string, limit int) ([]string, error) {
	limit = min(limit, mostGroups)
	number := LaneNumber(lane)
	var groups []string
	err := b.reader(ctx).each(GroupsQuery, []any{number, after, number, limit, limit}, func(rows *sql.Rows) (bool, error) {
		var group string
		if err := rows.Scan(&group); err != nil {
			return false, err
		}
		groups = append(groups, group)
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read waiting groups: %w", err)
	}
	return groups, nil
}

// NextDue implements jobs.OutboxRows.
func (b *Box) NextDue(ctx context.Context) (time.Time, error) {
	var next sql.NullInt64
	err := b.reader(ctx).one("SELECT min(run_at) FROM job_outbox WHERE state = 1", nil, &next)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the next due job: %w", err)
	}
	return fromMicros(next.Int64), nil
}

// one scans the only row, or returns sql.ErrNoRows.
func (s *session) one(query string, args []any, into ...any) error {
	found := false
	err := s.each(query, args, func(rows *sql.Rows) (bool, error) {
		found = true
		return false, rows.Scan(into...)
	})
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

// AdmittedQuery is the statement of AdmittedBefore: after, age, limit. The rows
// are sorted, not read in the order of an index on place: there are as many as the
// hot set holds, and all others lie between them.
func AdmittedQuery(d Dialect) string {
	return `SELECT ` + readColumns + ` FROM job_outbox
		WHERE state = 2 AND place > ? AND changed_at <= ` + d.Now() + ` - ? ORDER BY place + 0 LIMIT ?`
}

// AdmittedBefore implements jobs.OutboxRows.
func (b *Box) AdmittedBefore(ctx context.Context, age time.Duration, after int64, limit int) ([]jobs.Row, error) {
	rows, err := b.reader(ctx).collect(AdmittedQuery(b.d),
		[]any{after, age.Microseconds(), limit}, 0)
	if err != nil {
		return nil, fmt.Errorf("read admitted jobs: %w", err)
	}
	return rows, nil
}

// BacklogQuery is the statement of Backlog: each part of it can read an index from
// end to end, and no row.
func BacklogQuery(d Dialect) string {
	return `SELECT state, lane, n, oldest, ` + d.Now() + ` FROM (
		SELECT 0 AS state, lane, count(*) AS n, min(changed_at) AS oldest FROM job_outbox WHERE state = 0 GROUP BY lane
		UNION ALL SELECT 1, 0, count(*), 0 FROM job_outbox WHERE state = 1
		UNION ALL SELECT 2, 0, count(*), 0 FROM job_outbox WHERE state = 2
		UNION ALL SELECT 3, 0, count(*), 0 FROM job_outbox WHERE state = 3) AS c`
}

// Backlog implements jobs.OutboxRows.
func (b *Box) Backlog(ctx context.Context) (jobs.Backlog, error) {
	backlog := jobs.Backlog{Buffered: map[jobs.Lane]int64{}, Oldest: map[jobs.Lane]time.Duration{}}
	err := b.reader(ctx).each(BacklogQuery(b.d), nil,
		func(rows *sql.Rows) (bool, error) {
			var (
				state, lane    int
				n, oldest, now int64
			)
			if err := rows.Scan(&state, &lane, &n, &oldest, &now); err != nil {
				return false, err
			}
			switch state {
			case waiting:
				backlog.Buffered[laneOf(lane)] = n
				backlog.Oldest[laneOf(lane)] = time.Duration(max(now-oldest, 0)) * time.Microsecond
			case scheduled:
				backlog.Scheduled += n
			case admitted:
				backlog.Admitted += n
			case quarantined:
				backlog.Quarantined += n
			}
			return true, nil
		})
	if err != nil {
		return backlog, fmt.Errorf("count the backlog: %w", err)
	}
	return backlog, nil
}

// Get implements jobs.OutboxRows.
func (b *Box) Get(ctx context.Context, id jobs.ID) (jobs.Row, error) {
	condition, args := b.d.IDs([]jobs.ID{id})
	rows, err := b.reader(ctx).collect("SELECT "+readColumns+" FROM job_outbox WHERE "+condition, args, 0)
	switch {
	case err != nil:
		return jobs.Row{}, fmt.Errorf("read a job: %w", err)
	case len(rows) == 0:
		return jobs.Row{}, fmt.Errorf("%w: %s", jobs.ErrUnknownJob, id)
	}
	return rows[0], nil
}
