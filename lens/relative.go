package lens

import (
	"regexp"
	"strconv"
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

var (
	relativeForm = regexp.MustCompile(`^now((?:[+-][0-9]{1,6}(?:s|mo|m|h|d|w|y)){0,4})(?:/(d|w|mo|y))?$`)
	relativeStep = regexp.MustCompile(`([+-][0-9]+)(s|mo|m|h|d|w|y)`) // mo before m: the first that fits is taken
)

// relative reads now, now-30d, now+2h, now-1mo/mo: steps are taken from left to
// right, and /d /w /mo /y go back to the start of the day, week (Monday), month
// or year. Hours are hours; days and longer are calendar days of the lens's zone.
func (b *binder) relative(c target, s string) (any, string) {
	parts := relativeForm.FindStringSubmatch(s)
	if parts == nil {
		return nil, "a relative time is now, with steps such as -30d or +2h (s m h d w mo y) and perhaps /d /w /mo /y at its end"
	}
	t := b.now.UTC().Truncate(time.Millisecond)
	steps := relativeStep.FindAllStringSubmatch(parts[1], -1)
	calendar := parts[2] != "" || c.kind != catalogue.TimestampTZ
	for _, step := range steps {
		calendar = calendar || step[2] != "s" && step[2] != "m" && step[2] != "h"
	}
	if calendar && b.zone == nil {
		return nil, "a relative time in days or longer, or for a field without a zone, needs the lens's zone"
	}
	for _, step := range steps {
		n, err := strconv.Atoi(step[1])
		if err != nil {
			return nil, "a relative time has steps of at most six digits"
		}
		t = stepBy(t, n, step[2], b.zone)
	}
	if parts[2] != "" {
		t = startOf(t, parts[2], b.zone)
	}
	if t.Year() < 1 || t.Year() > 9999 {
		return nil, "years are from 1 to 9999"
	}
	switch c.kind {
	case catalogue.Date:
		return t.In(b.zone).Format(dateForm), ""
	case catalogue.Timestamp:
		return asUTC(t.In(b.zone)), ""
	}
	return t.UTC(), ""
}

func stepBy(t time.Time, n int, unit string, zone *time.Location) time.Time {
	switch unit {
	case "s":
		return t.Add(time.Duration(n) * time.Second)
	case "m":
		return t.Add(time.Duration(n) * time.Minute)
	case "h":
		return t.Add(time.Duration(n) * time.Hour)
	}
	wall := asUTC(t.In(zone))
	switch unit {
	case "d":
		wall = wall.AddDate(0, 0, n)
	case "w":
		wall = wall.AddDate(0, 0, 7*n)
	case "mo":
		wall = addMonths(wall, n)
	case "y":
		wall = addMonths(wall, 12*n)
	}
	return localTime(wall, zone)
}

// addMonths keeps the day of the month, or takes the month's last day where it
// has fewer: a month before 31 March is 28 February.
func addMonths(wall time.Time, n int) time.Time {
	first := time.Date(wall.Year(), wall.Month()+time.Month(n), 1, wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(wall.Day(), last)-1)
}

func startOf(t time.Time, unit string, zone *time.Location) time.Time {
	wall := asUTC(t.In(zone))
	y, m, d := wall.Date()
	switch unit {
	case "w":
		d -= (int(wall.Weekday()) + 6) % 7
	case "mo":
		d = 1
	case "y":
		m, d = 1, 1
	}
	return localTime(time.Date(y, m, d, 0, 0, 0, 0, time.UTC), zone)
}

// asUTC reads a time's wall clock as if it were UTC.
func asUTC(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// localTime finds the instant of a wall clock's time in a zone: the first, where
// clocks are set back over it, and the moment of the change, where they skip it.
func localTime(wall time.Time, zone *time.Location) time.Time {
	offset := func(at time.Time) time.Duration {
		_, seconds := at.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	before, after := offset(wall.Add(-26*time.Hour)), offset(wall.Add(26*time.Hour))
	early, late := wall.Add(-max(before, after)), wall.Add(-min(before, after))
	for _, candidate := range []time.Time{early, late} {
		if asUTC(candidate.In(zone)).Equal(wall) {
			return candidate
		}
	}
	if _, change := early.In(zone).ZoneBounds(); !change.IsZero() {
		return change.UTC()
	}
	return late
}
