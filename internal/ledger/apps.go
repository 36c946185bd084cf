package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/postledger/postledger"
)

// Errors about apps.
var (
	ErrAppExists  = errors.New("an app of this name exists")
	ErrAppUnknown = errors.New("no such app")
	ErrAppRemoved = errors.New("the app was removed")
)

// errUnchanged ends a write that finds nothing to do.
var errUnchanged = errors.New("nothing to change")

// policyLimit bounds lists of apps, profiles and grants: they are an
// operator's, and read whole.
const policyLimit = 10_000

// CreateApp writes a new app under the id it has. A removed app's name is free.
func (l *Ledger) CreateApp(ctx context.Context, a postledger.App, audit postledger.AuditEvent) error {
	return l.policy(ctx, "create app", audit, func(ctx context.Context, t *tx, now int64) error {
		n, err := t.exec(ctx, `INSERT INTO apps (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, a.ID, a.Name, now)
		if err == nil && n == 0 {
			return ErrAppExists
		}
		return err
	})
}

// RemoveApp marks an app. Its keys answer ErrAppRemoved from the commit on;
// its messages stay. Removing it again changes nothing.
func (l *Ledger) RemoveApp(ctx context.Context, id postledger.ID, audit postledger.AuditEvent) error {
	return l.policy(ctx, "remove app", audit, func(ctx context.Context, t *tx, now int64) error {
		if err := t.liveApp(ctx, id); errors.Is(err, ErrAppRemoved) {
			return errUnchanged
		} else if err != nil {
			return err
		}
		_, err := t.exec(ctx, `UPDATE apps SET removed_at = ? WHERE id = ?`, now, id)
		return err
	})
}

// liveApp says that an app exists and was not removed.
func (t *tx) liveApp(ctx context.Context, id postledger.ID) error {
	a, err := t.app(ctx, `WHERE id = ?`, id)
	if err == nil && !a.RemovedAt.IsZero() {
		return ErrAppRemoved
	}
	return err
}

const appColumns = `SELECT id, name, created_at, removed_at FROM apps `

func appDest(a *postledger.App) []any {
	return []any{&a.ID, &a.Name, timeColumn{&a.CreatedAt}, timeColumn{&a.RemovedAt}}
}

func (t *tx) app(ctx context.Context, where string, args ...any) (postledger.App, error) {
	var a postledger.App
	err := t.row(ctx, appDest(&a), appColumns+where, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return a, ErrAppUnknown
	}
	return a, err
}

// AppByID reads an app, removed or not.
func (l *Ledger) AppByID(ctx context.Context, id postledger.ID) (postledger.App, error) {
	a, err := l.read().app(ctx, `WHERE id = ?`, id)
	if err != nil {
		return a, fmt.Errorf("read app: %w", err)
	}
	return a, nil
}

// AppByName reads the app that has this name now.
func (l *Ledger) AppByName(ctx context.Context, name string) (postledger.App, error) {
	a, err := l.read().app(ctx, `WHERE name = ? AND removed_at IS NULL`, name)
	if err != nil {
		return a, fmt.Errorf("read app: %w", err)
	}
	return a, nil
}

// Apps lists all apps by name, removed ones too.
func (l *Ledger) Apps(ctx context.Context) ([]postledger.App, error) {
	return l.read().apps(ctx, `ORDER BY name, id LIMIT ?`, policyLimit)
}

func (t *tx) apps(ctx context.Context, rest string, args ...any) ([]postledger.App, error) {
	var out []postledger.App
	err := t.each(ctx, func(rows *sql.Rows) error {
		var a postledger.App
		err := rows.Scan(appDest(&a)...)
		out = append(out, a)
		return err
	}, appColumns+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("list apps: %w", err)
	}
	return out, nil
}
