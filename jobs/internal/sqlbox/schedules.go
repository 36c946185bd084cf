package sqlbox

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/postledger/postledger/jobs"
)

// ScheduleColumns are job_schedules' in the order of SaveSchedule's arguments.
const ScheduleColumns = "name, spec, zone, enabled, handler, payload, lane, max_attempts, timeout_us, next_at, last_at"

// SaveSchedule implements jobs.Schedules.
func (b *Box) SaveSchedule(ctx context.Context, s jobs.Schedule) error {
	payload := s.Payload
	if payload == nil {
		payload = []byte{}
	}
	_, err := b.some(ctx, "save schedule", b.d.SaveSchedule(), s.Name, s.Spec, s.Zone, bit(s.Enabled), s.Handler, payload,
		string(s.Lane), s.MaxAttempts, s.Timeout.Microseconds(), Micros(s.NextAt), Micros(s.LastAt))
	return err
}

// RemoveSchedule implements jobs.Schedules.
func (b *Box) RemoveSchedule(ctx context.Context, name string) error {
	n, err := b.some(ctx, "remove schedule", "DELETE FROM job_schedules WHERE name = ?", name)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", jobs.ErrUnknownSchedule, name)
	}
	return err
}

// GetSchedule implements jobs.Schedules.
func (b *Box) GetSchedule(ctx context.Context, name string) (jobs.Schedule, error) {
	found, err := b.schedules(ctx, "WHERE name = ?", name)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w: %s", jobs.ErrUnknownSchedule, name)
	}
	if err != nil {
		return jobs.Schedule{}, err
	}
	return found[0], nil
}

// ListSchedules implements jobs.Schedules.
func (b *Box) ListSchedules(ctx context.Context) ([]jobs.Schedule, error) {
	return b.schedules(ctx, "ORDER BY name")
}

// DueSchedules implements jobs.Schedules.
func (b *Box) DueSchedules(ctx context.Context, limit int) ([]jobs.Schedule, error) {
	return b.schedules(ctx, "WHERE enabled = 1 AND next_at > 0 AND next_at <= "+b.d.Now()+" ORDER BY next_at, name LIMIT ?", limit)
}

func (b *Box) schedules(ctx context.Context, which string, args ...any) ([]jobs.Schedule, error) {
	var found []jobs.Schedule
	err := b.reader(ctx).each("SELECT "+ScheduleColumns+" FROM job_schedules "+which, args, func(rows *sql.Rows) (bool, error) {
		var (
			s                   jobs.Schedule
			lane                string
			enabled             int
			timeout, next, last int64
		)
		err := rows.Scan(&s.Name, &s.Spec, &s.Zone, &enabled, &s.Handler, &s.Payload, &lane, &s.MaxAttempts, &timeout, &next, &last)
		s.Lane, s.Enabled, s.Timeout = jobs.Lane(lane), enabled != 0, time.Duration(timeout)*time.Microsecond
		if s.Payload == nil {
			s.Payload = []byte{} // some drivers' empty value
		}
		s.NextAt, s.LastAt = fromMicros(next), fromMicros(last)
		found = append(found, s)
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("read schedules: %w", err)
	}
	return found, nil
}

// FireSchedule implements jobs.Schedules.
func (b *Box) FireSchedule(ctx context.Context, name string, from, at, to time.Time, job jobs.Insertion) (fired bool, err error) {
	plan := planInsert([]jobs.Insertion{job}, time.Now())
	err = b.write(ctx, "fire a schedule", func(s *session) error {
		n, err := s.exec("UPDATE job_schedules SET next_at = ?, last_at = ? WHERE name = ? AND next_at = ? AND enabled = 1",
			Micros(to), Micros(at), name, Micros(from))
		if fired = err == nil && n == 1; !fired {
			return err
		}
		for _, part := range plan.parts() {
			if err := s.insert(part.rows, part.conflict, map[jobs.ID]int64{}); err != nil {
				return err
			}
		}
		return nil
	})
	return fired, err
}
