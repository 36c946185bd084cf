package api

import (
	"context"
	"net/http"

	"github.com/postledger/postledger/internal/ledger"
)

// retentionView says how many days things are kept.
type retentionView struct {
	ContentDays int `json:"content_days" minimum:"1" maximum:"3650" doc:"Bodies, headers and attachments, after the message has settled. Not more than record_days."`
	RecordDays  int `json:"record_days" minimum:"1" maximum:"3650" doc:"Messages, deliveries and their history, after the message has settled."`
	KeyDays     int `json:"key_days" minimum:"1" maximum:"3650" doc:"Idempotency keys. Not less than record_days."`
	AuditDays   int `json:"audit_days" minimum:"1" maximum:"3650" doc:"The audit trail."`
}

func (s *server) settingRoutes() {
	read(s, admin(http.MethodGet, "/v1/settings/retention", "get-retention", "See the retention settings", ""),
		func(ctx context.Context, _ *call, _ *struct{}) (retentionView, error) {
			r, err := s.Ledger.Retention(ctx)
			return retentionView(r), err
		})
	rt := admin(http.MethodPut, "/v1/settings/retention", "put-retention", "Set the retention settings",
		"Nothing that has not settled, and nothing unconfirmed that may still be resolved, is removed, whatever is set.")
	rt.codes = []Code{codeBadInput}
	write(s, rt, s.putRetention)
}

func (s *server) putRetention(ctx context.Context, c *call, _ *struct{}, body *retentionView) (retentionView, error) {
	r := ledger.RetentionSettings(*body)
	e := c.audit(s.Ledger.NewID(), "retention.put", "setting", "retention")
	if err := s.Ledger.PutRetention(ctx, r, e); err != nil {
		return retentionView{}, err
	}
	return retentionView(r), nil
}
