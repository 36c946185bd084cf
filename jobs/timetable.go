package jobs

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Timetable is a cron expression in a zone.
type Timetable struct {
	spec  cron.Schedule
	zone  *time.Location
	delay bool // of @every: it counts time, and looks at no clock
}

// maxSpec bounds an expression: no sensible one is longer.
const maxSpec = 255

// ParseTimetable reads an expression of five fields (minute, hour, day of the
// month, month, day of the week), @hourly, @daily, @weekly, @monthly, @yearly, or
// @every with a duration; and the name of a zone, empty for UTC.
func ParseTimetable(spec, zone string) (Timetable, error) {
	switch {
	case len(spec) > maxSpec:
		return Timetable{}, badJob("spec", "has %d bytes, at most %d are allowed", len(spec), maxSpec)
	case strings.Contains(spec, "TZ="):
		return Timetable{}, badJob("spec", "names a zone, which has a field of its own")
	case zone == "Local":
		// It would be another one on another machine.
		return Timetable{}, badJob("zone", "is Local, want UTC or a name such as Europe/Berlin")
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return Timetable{}, badJob("zone", "is %q, which is not known: %v", zone, err)
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor).Parse(spec)
	if err != nil {
		return Timetable{}, badJob("spec", "is not a cron expression of five fields: %v", err)
	}
	_, delay := parsed.(cron.ConstantDelaySchedule)
	t := Timetable{spec: parsed, zone: location, delay: delay}
	if t.Next(time.Now()).IsZero() {
		return Timetable{}, badJob("spec", "is %q, which never comes", spec)
	}
	return t, nil
}

// Next is the first moment after another, or zero when there is none within five
// years. Expressions are about local time: one that occurs twice, when clocks go
// back, counts the first time only; one that is skipped, when they go forward, is
// the next moment that exists.
func (t Timetable) Next(after time.Time) time.Time {
	if t.delay {
		return t.spec.Next(after).UTC()
	}
	// The expression is evaluated on a clock without a zone, so that no local time
	// is missing or double; the zone is applied to what comes out.
	for clock := wall(after.In(t.zone)); ; {
		clock = t.spec.Next(clock)
		if clock.IsZero() {
			return time.Time{}
		}
		if moment := t.moment(clock); moment.After(after) {
			return moment.UTC()
		}
		// It occurs for the second time, and has counted.
	}
}

// wall is what a clock on the wall shows, as a time in UTC.
func wall(t time.Time) time.Time {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	return time.Date(year, month, day, hour, minute, second, t.Nanosecond(), time.UTC)
}

// moment is when the zone's clocks first show this, or, when they never do, when
// they jump over it.
func (t Timetable) moment(clock time.Time) time.Time {
	_, before := clock.Add(-24 * time.Hour).In(t.zone).Zone()
	_, behind := clock.Add(24 * time.Hour).In(t.zone).Zone()
	// The larger offset is the earlier moment.
	for _, offset := range [...]int{max(before, behind), min(before, behind)} {
		moment := clock.Add(-time.Duration(offset) * time.Second).In(t.zone)
		if wall(moment).Equal(clock) {
			return moment
		}
	}
	jumped, _ := clock.Add(-time.Duration(before) * time.Second).In(t.zone).ZoneBounds()
	return jumped
}
