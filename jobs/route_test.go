package jobs_test

import (
	"testing"
	"time"

	"github.com/postledger/postledger/jobs"
)

func TestRouteOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	soon, horizon, later := now.Add(time.Second), now.Add(jobs.HotHorizon), now.Add(jobs.HotHorizon+1)
	tests := []struct {
		mode   jobs.Mode
		kind   jobs.Kind
		bypass bool
		runAt  time.Time
		want   jobs.Route
	}{
		{jobs.Overflow, jobs.Adhoc, false, time.Time{}, jobs.RouteSpill},
		{jobs.Overflow, jobs.Adhoc, true, time.Time{}, jobs.RouteDirect},
		{jobs.Overflow, jobs.Cron, false, time.Time{}, jobs.RouteDirect},
		{jobs.Overflow, jobs.Cron, true, time.Time{}, jobs.RouteDirect},
		{jobs.Overflow, jobs.Trigger, false, time.Time{}, jobs.RouteDirect},
		{jobs.Overflow, jobs.Trigger, true, time.Time{}, jobs.RouteDirect},

		{jobs.Overflow, jobs.Adhoc, false, soon, jobs.RouteSpill},
		{jobs.Overflow, jobs.Adhoc, false, horizon, jobs.RouteSpill},
		{jobs.Overflow, jobs.Adhoc, false, later, jobs.RouteSchedule},
		{jobs.Overflow, jobs.Adhoc, true, horizon, jobs.RouteDirect},
		{jobs.Overflow, jobs.Adhoc, true, later, jobs.RouteSchedule},
		{jobs.Overflow, jobs.Cron, false, later, jobs.RouteSchedule},
		{jobs.Overflow, jobs.Trigger, false, later, jobs.RouteSchedule},
		{jobs.Overflow, jobs.Adhoc, false, now.Add(-time.Hour), jobs.RouteSpill},

		{jobs.Always, jobs.Adhoc, false, time.Time{}, jobs.RouteRow},
		{jobs.Always, jobs.Adhoc, true, time.Time{}, jobs.RouteRow},
		{jobs.Always, jobs.Cron, false, time.Time{}, jobs.RouteRow},
		{jobs.Always, jobs.Cron, true, soon, jobs.RouteRow},
		{jobs.Always, jobs.Trigger, false, time.Time{}, jobs.RouteRow},
		{jobs.Always, jobs.Adhoc, false, later, jobs.RouteSchedule},
		{jobs.Always, jobs.Trigger, true, later, jobs.RouteSchedule},
	}
	for _, test := range tests {
		if got := jobs.RouteOf(test.mode, test.kind, test.bypass, test.runAt, now); got != test.want {
			t.Errorf("%v %v bypass=%v in %v: %v, want %v", test.mode, test.kind, test.bypass, test.runAt.Sub(now), got, test.want)
		}
	}
}

func TestSpills(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind   jobs.Kind
		bypass bool
		want   bool
	}{
		{jobs.Adhoc, false, true},
		{jobs.Adhoc, true, false},
		{jobs.Cron, false, false},
		{jobs.Cron, true, false},
		{jobs.Trigger, false, false},
		{jobs.Trigger, true, false},
	} {
		if got := jobs.Spills(test.kind, test.bypass); got != test.want {
			t.Errorf("%v bypass=%v spills: %v", test.kind, test.bypass, got)
		}
	}
}

func TestResolveLane(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ request, option, handler, want jobs.Lane }{
		{"", "", "", jobs.Fast},
		{"", "", jobs.Slow, jobs.Slow},
		{"", jobs.Fast, jobs.Slow, jobs.Fast},
		{"", jobs.Slow, jobs.Fast, jobs.Slow},
		{jobs.Fast, jobs.Slow, jobs.Slow, jobs.Fast},
		{jobs.Slow, jobs.Fast, jobs.Fast, jobs.Slow},
		{jobs.Slow, "", "", jobs.Slow},
	} {
		if got := jobs.ResolveLane(test.request, test.option, test.handler); got != test.want {
			t.Errorf("%q, %q, %q: %q, want %q", test.request, test.option, test.handler, got, test.want)
		}
	}
}
