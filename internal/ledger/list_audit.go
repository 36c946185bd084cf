package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// AuditFilter chooses lines of the audit trail.
type AuditFilter struct {
	App postledger.ID `json:"app"`
	// Action is one action, looked at line by line within ListBudget.
	Action string `json:"action"`
	// Since and Until bound when: since <= at < until.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// Audit lists the audit trail, newest first, by (app, id) or the primary key.
func (l *Ledger) Audit(ctx context.Context, f AuditFilter, p Paging) (Page[postledger.AuditEvent], error) {
	f.Since, f.Until = f.Since.UTC(), f.Until.UTC()
	out, err := l.listAudit(ctx, f, p)
	if err != nil {
		return out, fmt.Errorf("list audit: %w", err)
	}
	return out, nil
}

const auditColumns = `e.id, e.at, e.app_id, e.api_key_id, e.request_id, e.actor_type, e.actor_id, e.action,
	e.target_type, e.target_id, e.result, e.detail`

func (l *Ledger) listAudit(ctx context.Context, f AuditFilter, p Paging) (Page[postledger.AuditEvent], error) {
	var out Page[postledger.AuditEvent]
	if err := p.check(); err != nil {
		return out, err
	}
	hash, err := hashFilter(f)
	if err != nil {
		return out, err
	}
	at, err := decodePlace(listAudit, p.Cursor, hash)
	if err != nil {
		return out, err
	}
	err = l.listing(ctx, func(ctx context.Context, t *tx) error {
		q := f.plan(t)
		var got found[postledger.AuditEvent]
		c := q.rows(t, auditColumns, at, p.Limit)
		err := t.each(ctx, func(rows *sql.Rows) error {
			var e postledger.AuditEvent
			err := rows.Scan(&e.ID, timeColumn{&e.At}, &e.AppID, &e.APIKeyID, &e.RequestID, &e.ActorType, &e.ActorID, &e.Action,
				&e.TargetType, &e.TargetID, &e.Result, &e.Detail)
			got.rows = append(got.rows, keyed[postledger.AuditEvent]{item: e, id: e.ID})
			return err
		}, c.sql, c.args...)
		if err != nil {
			return err
		}
		if len(got.rows) <= p.Limit {
			end, more, err := q.end(ctx, t, at, q.read(p.Limit))
			if err != nil {
				return err
			}
			if more {
				got.end = &keyed[postledger.AuditEvent]{id: end}
			}
		}
		out = page(listAudit, at, p.Cursor == "", p.Limit, got)
		if p.Total {
			out.Total, err = q.total(ctx, t, auditColumns)
		}
		return err
	})
	return out, err
}

func (f *AuditFilter) plan(t *tx) *plan {
	q := &plan{from: "audit_events", p: "e"}
	q.low, q.high = idRange(f.Since, f.Until)
	b := branch{cond: timed("e.at", f.Since, f.Until)}
	if !f.App.IsZero() {
		b.prefix, b.values = []string{"e.app_id"}, []any{f.App}
		q.hint = t.indexedBy("audit_events_app")
	}
	q.branches = []branch{b}
	if f.Action != "" {
		q.rest.and("e.action = ?", f.Action)
	}
	return q
}
