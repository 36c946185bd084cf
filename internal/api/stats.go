package api

import (
	"context"
	"net/http"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

type statsInput struct {
	App     postledger.ID `query:"app" doc:"One app; for operators. An app's key sees its own only."`
	Profile string        `query:"profile" doc:"A profile's name or id."`
	Lane    string        `query:"lane" enum:"immediate,bulk"`
	Since   time.Time     `query:"since" doc:"From the hour of this time on; 24 hours before until when left out."`
	Until   time.Time     `query:"until" doc:"Up to the hour of this time; now when left out. At most 93 days after since."`
}

// statsView is what happened hour by hour.
type statsView struct {
	Since time.Time  `json:"since"`
	Until time.Time  `json:"until"`
	Hours []hourView `json:"hours" doc:"Oldest first; hours in which nothing happened are left out."`
}

type hourView struct {
	Hour       time.Time     `json:"hour"`
	Messages   int64         `json:"messages" doc:"Messages accepted in the hour."`
	Deliveries int64         `json:"deliveries" doc:"Deliveries accepted in the hour."`
	Settled    []settledView `json:"settled" doc:"Deliveries that came to a settled state in the hour, less those that left it."`
}

type settledView struct {
	Status postledger.Status `json:"status"`
	Reason postledger.Reason `json:"reason,omitempty" doc:"sandbox: nothing left the machine."`
	N      int64             `json:"n"`
}

func (s *server) statsRoute() {
	read(s, route{
		method: http.MethodGet, path: "/v1/stats", id: "stats", tag: tagDeliveries,
		summary: "Count by hour", text: "The counters stay when the deliveries are removed by retention.",
		app: postledger.ScopeRead, operator: postledger.ScopeAdmin, codes: []Code{codeBadInput, codeFilterTooBroad},
	}, s.stats)
}

func (s *server) stats(ctx context.Context, c *call, in *statsInput) (statsView, error) {
	f := ledger.StatsFilter{App: c.only(in.App), Lane: postledger.Lane(in.Lane), Since: in.Since, Until: in.Until}
	if c.foreign(in.App) {
		f.App = nobody
	}
	if f.Until.IsZero() {
		f.Until = s.Now()
	}
	if f.Since.IsZero() {
		f.Since = f.Until.Add(-24 * time.Hour)
	}
	var err error
	if f.Profile, err = s.filterProfile(ctx, c, in.Profile); err != nil {
		return statsView{}, err
	}
	hours, err := s.Ledger.StatsHours(ctx, f)
	if err != nil {
		return statsView{}, err
	}
	v := statsView{Since: f.Since.UTC(), Until: f.Until.UTC(), Hours: make([]hourView, 0, len(hours))}
	for _, h := range hours {
		one := hourView{Hour: h.Hour, Messages: h.Messages, Deliveries: h.Deliveries, Settled: []settledView{}}
		for _, n := range h.Settled {
			one.Settled = append(one.Settled, settledView(n))
		}
		v.Hours = append(v.Hours, one)
	}
	return v, nil
}
