package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

// Clocks go forward at 02:00 to 03:00 on 29 March 2026 in Berlin, and back at
// 03:00 to 02:00 on 25 October (B52).
func TestTimetableOverChangesOfTheClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec, zone, after string
		want              []string
	}{
		"UTC":                          {"30 2 * * *", "", "2026-03-28T12:00:00Z", []string{"2026-03-29T02:30:00Z", "2026-03-30T02:30:00Z"}},
		"skipped":                      {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		"skipped, many":                {"*/20 * * * *", "Europe/Berlin", "2026-03-29T01:30:00+01:00", []string{"2026-03-29T01:40:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:20:00+02:00"}},
		"twice":                        {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+02:00", []string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		"twice, many":                  {"0,30 * * * *", "Europe/Berlin", "2026-10-25T02:10:00+02:00", []string{"2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+01:00"}},
		"between the two":              {"30 2 * * *", "Europe/Berlin", "2026-10-25T02:10:00+01:00", []string{"2026-10-26T02:30:00+01:00"}},
		"the hour after is once":       {"0 3 * * *", "Europe/Berlin", "2026-10-25T02:59:00+02:00", []string{"2026-10-25T03:00:00+01:00", "2026-10-26T03:00:00+01:00"}},
		"half an hour (Lord Howe)":     {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30", []string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		"at midnight (Beirut)":         {"0 0 * * *", "Asia/Beirut", "2026-03-28T12:00:00+02:00", []string{"2026-03-29T01:00:00+03:00", "2026-03-30T00:00:00+03:00"}},
		"a day that was left out":      {"0 12 30 12 *", "Pacific/Apia", "2011-12-28T12:00:00-10:00", []string{"2011-12-31T00:00:00+14:00", "2012-12-30T12:00:00+14:00"}},
		"the end of February":          {"0 0 29 2 *", "", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		"every counts time, no clocks": {"@every 90m", "Europe/Berlin", "2026-10-25T02:00:00+02:00", []string{"2026-10-25T02:30:00+01:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, err := jobs.ParseTimetable(c.spec, c.zone)
			if err != nil {
				t.Fatal(err)
			}
			at := parseTime(t, c.after)
			for _, want := range c.want {
				if at = table.Next(at); !at.Equal(parseTime(t, want)) {
					t.Fatalf("got %v, want %s", at, want)
				}
			}
		})
	}
}

func TestTimetableRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ spec, zone, want string }{
		{"", "", "spec"},
		{"* * * *", "", "spec is not a cron expression"},
		{"* * * * * *", "", "spec"},
		{"61 * * * *", "", "spec"},
		{"0 0 30 2 *", "", "never comes"},
		{"TZ=", "", "names a zone"},
		{"CRON_TZ=Asia/Tokyo 0 5 * * *", "", "names a zone"},
		{strings.Repeat("1,", 200) + "1 * * * *", "", "at most 255"},
		{"@daily", "Europe/Berlinn", `zone is "Europe/Berlinn"`},
		{"@daily", "Local", "zone is Local"},
		{"@daily", "../etc/passwd", "zone"},
	} {
		if _, err := jobs.ParseTimetable(c.spec, c.zone); !errors.Is(err, jobs.ErrBadJob) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %q: %v, want %q", c.spec, c.zone, err, c.want)
		}
	}
}

func parseTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
