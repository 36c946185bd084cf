package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/postledger/postledger"
)

const webhookColumns = `SELECT w.id, w.app_id, w.revision, w.url, w.description, w.states, w.with_address, w.secret,
	w.previous_secret, w.previous_until, w.failing_since, w.disabled_at, w.disabled_reason, w.created_at, w.updated_at
	FROM webhook_endpoints w `

func webhookDest(w *Webhook) []any {
	return []any{
		&w.ID, &w.AppID, &w.Revision, &w.URL, &w.Description,
		statusesColumn{&w.States},
		&w.WithAddress, &w.Secret, &w.PreviousSecret,
		timeColumn{&w.PreviousUntil},
		timeColumn{&w.FailingSince},
		timeColumn{&w.DisabledAt},
		&w.DisabledReason,
		timeColumn{&w.CreatedAt},
		timeColumn{&w.UpdatedAt},
	}
}

// statusesColumn scans comma-separated states.
type statusesColumn struct{ s *[]postledger.Status }

func (c statusesColumn) Scan(src any) error {
	var text string
	if err := (textColumn[string]{&text}).Scan(src); err != nil {
		return err
	}
	*c.s = nil
	for s := range strings.SplitSeq(text, ",") {
		if s != "" {
			*c.s = append(*c.s, postledger.Status(s))
		}
	}
	return nil
}

func joinStatuses(list []postledger.Status) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	return strings.Join(texts, ",")
}

func (t *tx) webhook(ctx context.Context, id postledger.ID) (Webhook, error) {
	var w Webhook
	err := t.row(ctx, webhookDest(&w), webhookColumns+`WHERE w.id = ?`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return w, ErrWebhookUnknown
	}
	return w, err
}

// Webhook reads an endpoint.
func (l *Ledger) Webhook(ctx context.Context, id postledger.ID) (Webhook, error) {
	w, err := l.read().webhook(ctx, id)
	if err != nil {
		return w, fmt.Errorf("read webhook: %w", err)
	}
	return w, nil
}

// WebhooksOf lists an app's endpoints, oldest first, or those of all apps.
func (l *Ledger) WebhooksOf(ctx context.Context, app postledger.ID) ([]Webhook, error) {
	if app.IsZero() {
		return l.webhooks(ctx, `ORDER BY w.app_id, w.id LIMIT ?`, policyLimit)
	}
	return l.webhooks(ctx, `WHERE w.app_id = ? ORDER BY w.id LIMIT ?`, app, policyLimit)
}

// EnabledWebhooks lists the endpoints that are told something: those of apps that
// were not removed.
func (l *Ledger) EnabledWebhooks(ctx context.Context) ([]Webhook, error) {
	return l.webhooks(ctx, `JOIN apps a ON a.id = w.app_id WHERE w.disabled_at IS NULL AND a.removed_at IS NULL ORDER BY w.id LIMIT ?`, policyLimit)
}

func (l *Ledger) webhooks(ctx context.Context, rest string, args ...any) ([]Webhook, error) {
	var out []Webhook
	err := l.read().each(ctx, func(rows *sql.Rows) error {
		var w Webhook
		err := rows.Scan(webhookDest(&w)...)
		out = append(out, w)
		return err
	}, webhookColumns+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return out, nil
}

// WebhooksVersion changes with every change of an endpoint, or of which apps there
// are: two look-ups by primary key, for a process that asks every second.
func (l *Ledger) WebhooksVersion(ctx context.Context) (string, error) {
	own, err := readSetting(ctx, l.read(), webhooksVersion)
	if err != nil {
		return "", err
	}
	policy, err := l.PolicyVersion(ctx)
	return own + "." + strconv.FormatInt(policy, 10), err
}

// WebhookCounts are the endpoints of all apps by how they are.
type WebhookCounts struct{ Working, Failing, Disabled int64 }

// CountWebhooks counts endpoints.
func (l *Ledger) CountWebhooks(ctx context.Context) (WebhookCounts, error) {
	var c WebhookCounts
	err := l.read().row(ctx, []any{&c.Working, &c.Failing, &c.Disabled}, `SELECT
			coalesce(sum(CASE WHEN disabled_at IS NULL AND failing_since IS NULL THEN 1 ELSE 0 END), 0),
			coalesce(sum(CASE WHEN disabled_at IS NULL AND failing_since IS NOT NULL THEN 1 ELSE 0 END), 0),
			coalesce(sum(CASE WHEN disabled_at IS NOT NULL THEN 1 ELSE 0 END), 0) FROM webhook_endpoints`)
	if err != nil {
		return c, fmt.Errorf("count webhooks: %w", err)
	}
	return c, nil
}
