package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// SchedulesLease is the lease's name under which one process of the fleet looks
// for schedules that are due.
const SchedulesLease = "schedules"

// SchedulerConfig is how schedules are kept. Zero fields have the defaults.
type SchedulerConfig struct {
	// Owner names this process; it must be another for each start.
	Owner string
	// Tick is how often it looks (1 s), LeaseLife how long its lease lives (15 s).
	Tick, LeaseLife time.Duration
	// Wake is told when a job was written that waits: the drain's.
	Wake func()
	Log  *slog.Logger
}

// Scheduler makes jobs by the clock. A moment of a schedule and its job's row are
// one transaction: it makes one job in the fleet, whoever looks, and whatever
// dies. When moments have passed while nobody looked, the latest makes a job and
// the others none.
type Scheduler struct {
	hot    Hot
	outbox Outbox
	config SchedulerConfig
	own    lease // Run's
}

// NewScheduler makes a scheduler; Run runs it.
func NewScheduler(hot Hot, outbox Outbox, config SchedulerConfig) *Scheduler {
	config.Tick = orElse(config.Tick, time.Second)
	config.LeaseLife = orElse(config.LeaseLife, 15*time.Second)
	if config.Wake == nil {
		config.Wake = func() {}
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Scheduler{
		hot: hot, outbox: outbox, config: config,
		own: lease{outbox: outbox, name: SchedulesLease, owner: config.Owner, life: config.LeaseLife},
	}
}

// Run looks for due schedules until ctx ends. What fails is logged and tried
// again.
func (s *Scheduler) Run(ctx context.Context) {
	tick := time.NewTicker(s.config.Tick)
	defer tick.Stop()
	looking := newTrouble(s.config.Log, "schedules were not looked after")
	for {
		switch err := s.look(ctx); {
		case err == nil:
			looking.works()
		case ctx.Err() == nil:
			looking.fails(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Tick)
			defer cancel()
			if err := s.outbox.ReleaseLease(last, SchedulesLease, s.config.Owner); err != nil {
				s.config.Log.Warn("the schedules' lease could not be given back", slog.Any("error", err))
			}
			return
		}
	}
}

// schedulePage is how many due schedules one look fires.
const schedulePage = 100

func (s *Scheduler) look(ctx context.Context) error {
	holds, err := s.own.holds(ctx)
	if err != nil || !holds {
		return err
	}
	due, err := s.outbox.DueSchedules(ctx, schedulePage)
	if err != nil {
		return err
	}
	var failed []error
	for i := range due {
		if err := s.fire(ctx, &due[i]); err != nil {
			failed = append(failed, fmt.Errorf("schedule %s: %w", due[i].Name, err))
		}
	}
	return errors.Join(failed...)
}

// fire makes the job of the latest moment that has passed.
func (s *Scheduler) fire(ctx context.Context, schedule *Schedule) error {
	table, err := ParseTimetable(schedule.Spec, schedule.Zone)
	if err != nil {
		return err
	}
	// The database says that it is due; this process's clock may be behind.
	now := time.Now()
	if now.Before(schedule.NextAt) {
		now = schedule.NextAt
	}
	at := latest(table, schedule.NextAt, now)
	entry := schedule.entry(Cron, DeriveID(scheduleSpace, schedule.Name+" "+at.UTC().Format(time.RFC3339Nano)))
	fired, err := s.outbox.FireSchedule(ctx, schedule.Name, schedule.NextAt, at, table.Next(now), Insertion{Entry: entry})
	if err != nil || !fired {
		return err
	}
	s.promote(ctx, entry)
	return nil
}

// latest is the last moment of a timetable up to now, of which first is one. It
// looks back by ever longer spans: the minutes of a year away are half a million.
func latest(table Timetable, first, now time.Time) time.Time {
	for span := time.Minute; span < now.Sub(first); span *= 2 {
		if next := table.Next(now.Add(-span)); !next.IsZero() && !next.After(now) {
			first = next
			break
		}
	}
	for next := table.Next(first); !next.IsZero() && !next.After(now); next = table.Next(next) {
		first = next
	}
	return first
}

// scheduleSpace is the space of the ids of jobs that schedules make.
var scheduleSpace = ID{0x6a, 0x6f, 0x62, 0x73, 0x2e, 0x73, 0x43, 0x68, 0x85, 0x64, 0x75, 0x6c, 0x65, 0x2e, 0x69, 0x64}

// entry is the schedule's job. Its row stays until it has finished: nobody would
// enqueue it again.
func (s *Schedule) entry(kind Kind, id ID) Entry {
	return Entry{
		Job: Job{
			ID: id, Handler: s.Handler, Payload: s.Payload, Kind: kind, Lane: ResolveLane(s.Lane, "", ""),
			MaxAttempts: orElse(s.MaxAttempts, DefaultTries), Timeout: s.Timeout,
		},
		Rev: 1, Durable: true, EnqueuedAt: time.Now(),
	}
}

// promote puts a job whose row is committed into the hot set at once. If it does
// not go in, the drain has it.
func (s *Scheduler) promote(ctx context.Context, entry Entry) {
	epoch, err := s.hot.Epoch(ctx)
	if err == nil {
		var answers []Admission
		answers, err = s.hot.Add(ctx, Add{Entries: []Entry{entry}})
		if err == nil && (answers[0] == Added || answers[0] == Duplicate) {
			_, err = s.outbox.Admit(ctx, epoch, []Ref{entry.Ref()})
		}
	}
	if err != nil {
		s.config.Log.Warn("a schedule's job waits in the outbox", slog.String("id", entry.ID.String()), slog.Any("error", err))
	}
	s.config.Wake()
}

// Save writes a schedule. Its next moment is counted from now, unless one of that
// name with the same timetable was enabled before: an application that saves its
// schedules at every start misses none.
func (s *Scheduler) Save(ctx context.Context, schedule Schedule) error {
	table, err := schedule.check()
	if err != nil {
		return err
	}
	before, err := s.outbox.GetSchedule(ctx, schedule.Name)
	switch {
	case err == nil:
		schedule.LastAt = before.LastAt
	case !errors.Is(err, ErrUnknownSchedule):
		return err
	}
	same := before.Enabled && before.Spec == schedule.Spec && before.Zone == schedule.Zone
	if schedule.NextAt = before.NextAt; !same {
		schedule.NextAt = table.Next(time.Now())
	}
	return s.outbox.SaveSchedule(ctx, schedule)
}

// Enable switches a schedule on, from now on, or off.
func (s *Scheduler) Enable(ctx context.Context, name string, enabled bool) error {
	schedule, err := s.outbox.GetSchedule(ctx, name)
	if err != nil {
		return err
	}
	table, err := schedule.check()
	if err != nil {
		return err
	}
	if enabled && !schedule.Enabled {
		schedule.NextAt = table.Next(time.Now())
	}
	schedule.Enabled = enabled
	return s.outbox.SaveSchedule(ctx, schedule)
}

// Trigger makes a schedule's job now, enabled or not, beside its timetable.
func (s *Scheduler) Trigger(ctx context.Context, name string) (ID, error) {
	schedule, err := s.outbox.GetSchedule(ctx, name)
	if err != nil {
		return ID{}, err
	}
	var ids IDSource
	entry := schedule.entry(Trigger, ids.Next(time.Now()))
	if _, err := s.outbox.Insert(ctx, []Insertion{{Entry: entry}}); err != nil {
		return ID{}, fmt.Errorf("trigger %s: %w", name, err)
	}
	s.promote(ctx, entry)
	return entry.ID, nil
}

func (s *Schedule) check() (Timetable, error) {
	if s.Name == "" || !printable(s.Name) || len(s.Name) > MaxName {
		return Timetable{}, badJob("name", "is %q, want 1 to %d printable ASCII characters", s.Name, MaxName)
	}
	entry := s.entry(Cron, ID{})
	entry.Lane = s.Lane
	if err := entry.Validate(); err != nil {
		return Timetable{}, err
	}
	return ParseTimetable(s.Spec, s.Zone)
}
