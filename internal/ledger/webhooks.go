package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postledger/postledger"
)

// Webhook is an endpoint that an app is told of its deliveries at.
type Webhook struct {
	ID       postledger.ID
	AppID    postledger.ID
	Revision int64
	URL      string
	// Description is for people.
	Description string
	// States are those it is told of.
	States []postledger.Status
	// WithAddress: events hold the recipient's address and the next hop's reply.
	WithAddress bool
	// Secret and PreviousSecret are sealed; PreviousUntil is when the latter ends.
	Secret, PreviousSecret []byte
	PreviousUntil          time.Time
	// FailingSince is set while no try has succeeded.
	FailingSince time.Time
	// DisabledAt is set while it is told nothing; DisabledReason says why.
	DisabledAt     time.Time
	DisabledReason string
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// MaxWebhooks bounds an app's endpoints: each is a job a delivery.
const MaxWebhooks = 16

// Errors about webhooks.
var (
	ErrWebhookUnknown  = errors.New("no such webhook")
	ErrWebhooksTooMany = fmt.Errorf("an app may have %d webhooks", MaxWebhooks)
)

// webhooksVersion is the setting that counts changes of endpoints.
const webhooksVersion = "webhooks_version"

// countWebhooks makes writers of endpoints take turns and pollers see the change.
func (t *tx) countWebhooks(ctx context.Context) error {
	_, err := t.exec(ctx, `INSERT INTO settings (name, value) VALUES (?, '1')
		ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(settings.value AS bigint) + 1 AS text)`, webhooksVersion)
	if err != nil {
		return fmt.Errorf("count webhook write: %w", err)
	}
	return nil
}

// CreateWebhook writes an endpoint under the id it has.
func (l *Ledger) CreateWebhook(ctx context.Context, w Webhook, audit postledger.AuditEvent) error {
	return l.audited(ctx, "create webhook", audit, func(ctx context.Context, t *tx, now int64) error {
		if err := t.countWebhooks(ctx); err != nil {
			return err
		}
		if err := t.liveApp(ctx, w.AppID); err != nil {
			return err
		}
		var n int
		if err := t.row(ctx, []any{&n}, `SELECT count(*) FROM webhook_endpoints WHERE app_id = ?`, w.AppID); err != nil {
			return err
		}
		if n >= MaxWebhooks {
			return ErrWebhooksTooMany
		}
		_, err := t.exec(ctx, `INSERT INTO webhook_endpoints (id, app_id, revision, url, description, states, with_address, secret,
				disabled_reason, created_at, updated_at) VALUES (?, ?, 1, ?, ?, ?, ?, ?, '', ?, ?)`,
			w.ID, w.AppID, w.URL, w.Description, joinStatuses(w.States), w.WithAddress, w.Secret, now, now)
		return err
	})
}

// ChangeWebhook reads an endpoint, has change alter it, and writes what it became:
// URL, description, states, address, secrets, and whether it is disabled. change may
// be called more than once. When it says that it altered nothing, nothing is written.
func (l *Ledger) ChangeWebhook(ctx context.Context, id postledger.ID, audit postledger.AuditEvent, change func(w *Webhook, now time.Time) (altered bool, err error)) (Webhook, error) {
	var out Webhook
	err := l.audited(ctx, "change webhook", audit, func(ctx context.Context, t *tx, now int64) error {
		if err := t.countWebhooks(ctx); err != nil {
			return err
		}
		w, err := t.webhook(ctx, id)
		if err != nil {
			return err
		}
		out = w
		altered, err := change(&w, fromMicros(now))
		switch {
		case err != nil:
			return err
		case !altered:
			return errUnchanged
		}
		w.Revision++
		w.UpdatedAt = fromMicros(now)
		out = w
		_, err = t.exec(ctx, `UPDATE webhook_endpoints SET revision = ?, url = ?, description = ?, states = ?, with_address = ?,
				secret = ?, previous_secret = ?, previous_until = ?, failing_since = ?, disabled_at = ?, disabled_reason = ?, updated_at = ?
			WHERE id = ?`, w.Revision, w.URL, w.Description, joinStatuses(w.States), w.WithAddress,
			w.Secret, nullBytes(w.PreviousSecret), nullTime(w.PreviousUntil), nullTime(w.FailingSince),
			nullTime(w.DisabledAt), w.DisabledReason, now, id)
		return err
	})
	return out, err
}

// RemoveWebhook removes an endpoint. What waits for it is dropped when its turn
// comes; the record of its tries goes with retention.
func (l *Ledger) RemoveWebhook(ctx context.Context, id postledger.ID, audit postledger.AuditEvent) error {
	return l.audited(ctx, "remove webhook", audit, func(ctx context.Context, t *tx, _ int64) error {
		if err := t.countWebhooks(ctx); err != nil {
			return err
		}
		n, err := t.exec(ctx, `DELETE FROM webhook_endpoints WHERE id = ?`, id)
		if err == nil && n == 0 {
			return ErrWebhookUnknown
		}
		return err
	})
}

// WebhookFails notes that tries fail, the first of them so long ago, and says since
// when none has succeeded.
func (l *Ledger) WebhookFails(ctx context.Context, id postledger.ID, ago time.Duration) (since time.Time, err error) {
	err = l.write(ctx, func(ctx context.Context, t *tx) error {
		now, err := t.nowMicros(ctx)
		if err != nil {
			return err
		}
		n, err := t.exec(ctx, `UPDATE webhook_endpoints SET failing_since = ? WHERE id = ? AND failing_since IS NULL`, now-max(ago, 0).Microseconds(), id)
		if err == nil && n > 0 {
			err = t.countWebhooks(ctx)
		}
		if err != nil {
			return err
		}
		w, err := t.webhook(ctx, id)
		since = w.FailingSince
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("note a failing webhook: %w", err)
	}
	return since, nil
}

// WebhookWorks notes that a try succeeded.
func (l *Ledger) WebhookWorks(ctx context.Context, id postledger.ID) error {
	err := l.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE webhook_endpoints SET failing_since = NULL WHERE id = ? AND failing_since IS NOT NULL`, id)
		if err == nil && n > 0 {
			err = t.countWebhooks(ctx)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("note a working webhook: %w", err)
	}
	return nil
}
