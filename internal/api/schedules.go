package api

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/jobs"
)

type scheduleView struct {
	Name    string    `json:"name"`
	Spec    string    `json:"spec" doc:"A cron expression of five fields, or @daily and the like."`
	Zone    string    `json:"zone" doc:"Whose clock it goes by."`
	Enabled bool      `json:"enabled"`
	Handler string    `json:"handler" doc:"What its jobs do."`
	Lane    string    `json:"lane" enum:"fast,slow"`
	NextAt  time.Time `json:"next_at,omitzero" doc:"When it makes its next job."`
	LastAt  time.Time `json:"last_at,omitzero" doc:"The last moment that made one."`
}

type schedulesView struct {
	Items []scheduleView `json:"items"`
}

type scheduleInput struct {
	Name string `path:"name"`
}

type scheduleRunView struct {
	Job postledger.ID `json:"job" doc:"The job that was made."`
}

func (s *server) scheduleRoutes() {
	read(s, jobRoute(http.MethodGet, "/v1/jobs/schedules", "list-schedules", "List schedules", "What makes jobs by the clock, by name."), s.listSchedules)
	for _, enabled := range []bool{true, false} {
		verb, summary, text := "enable", "Enable a schedule", "Its next moment is the first after now."
		if !enabled {
			verb, summary, text = "disable", "Disable a schedule", "It makes no jobs, also after a restart, until it is enabled."
		}
		rt := jobRoute(http.MethodPost, "/v1/jobs/schedules/{name}/"+verb, verb+"-schedule", summary, text, codeScheduleUnknown)
		rt.success = http.StatusNoContent
		read(s, rt, func(ctx context.Context, c *call, in *scheduleInput) (none, error) {
			return none{}, s.decideSchedule(ctx, c, "schedule."+verb, in, func(ctx context.Context) error {
				return s.Jobs.EnableSchedule(ctx, in.Name, enabled)
			})
		})
	}
	read(s, jobRoute(http.MethodPost, "/v1/jobs/schedules/{name}/run", "run-schedule", "Run a schedule now",
		"Makes its job now, enabled or not, beside its timetable.", codeScheduleUnknown), s.runSchedule)
}

func (s *server) listSchedules(ctx context.Context, _ *call, _ *struct{}) (schedulesView, error) {
	all, err := s.Jobs.Schedules(ctx)
	v := schedulesView{Items: make([]scheduleView, 0, len(all))}
	for i := range all {
		a := &all[i]
		view := scheduleView{a.Name, a.Spec, a.Zone, a.Enabled, a.Handler, string(jobs.ResolveLane(a.Lane, "", "")), a.NextAt, a.LastAt}
		if view.Zone == "" {
			view.Zone = "UTC"
		}
		v.Items = append(v.Items, view)
	}
	return v, err
}

func (s *server) runSchedule(ctx context.Context, c *call, in *scheduleInput) (scheduleRunView, error) {
	var id jobs.ID
	err := s.decideSchedule(ctx, c, "schedule.run", in, func(ctx context.Context) (err error) {
		id, err = s.Jobs.RunSchedule(ctx, in.Name)
		return err
	})
	return scheduleRunView{postledger.ID(id)}, err
}

// decideSchedule keeps what is no name out of the audit trail.
func (s *server) decideSchedule(ctx context.Context, c *call, action string, in *scheduleInput, carryOut func(context.Context) error) error {
	if len(in.Name) > jobs.MaxName {
		return field("name", accept.RuleRange, "is longer than 128 bytes")
	}
	all, err := s.Jobs.Schedules(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].Name == in.Name {
			return s.decide(ctx, c, action, "schedule", in.Name, carryOut)
		}
	}
	return problem(codeScheduleUnknown, "")
}
