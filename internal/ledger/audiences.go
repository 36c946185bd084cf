package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/postledger/postledger"
)

// Errors about audiences; those of another app are unknown.
var (
	ErrAudienceUnknown = errors.New("no such audience")
	ErrAudienceExists  = errors.New("an audience of this name exists")
	ErrAudienceRemoved = errors.New("the audience was removed")
	ErrAudienceLimit   = errors.New("the app has as many audiences as it may")
)

// MaxAudiences bounds the audiences of one app that were not removed, so that
// lists of names stay short enough to read.
const MaxAudiences = 1000

// PutAudience saves a new version of an audience: revision 0 creates it, under
// its id or a new one; any other must still be the current one. Saves of one
// app's audiences take turns by the app's row.
func (l *Ledger) PutAudience(ctx context.Context, a postledger.Audience, revision int64, audit postledger.AuditEvent) (postledger.Audience, error) {
	definition, err := json.Marshal(a.AudienceDefinition)
	if err != nil {
		return a, fmt.Errorf("put audience: encode definition: %w", err)
	}
	if revision == 0 && a.ID.IsZero() {
		a.ID = l.NewID()
	}
	if audit.TargetID == "" {
		audit.TargetID = a.ID.String()
	}
	var out postledger.Audience
	err = l.audited(ctx, "put audience", audit, func(ctx context.Context, t *tx, now int64) error {
		if err := t.holdApp(ctx, a.AppID); err != nil {
			return err
		}
		if err := t.roomForAudience(ctx, &a, revision); err != nil {
			return err
		}
		if revision == 0 {
			_, err = t.exec(ctx, `INSERT INTO audiences (id, app_id, name, revision, created_at) VALUES (?, ?, ?, 1, ?)`, a.ID, a.AppID, a.Name, now)
		} else {
			_, err = t.exec(ctx, `UPDATE audiences SET name = ?, revision = revision + 1 WHERE id = ?`, a.Name, a.ID)
		}
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, `INSERT INTO audience_versions (audience_id, revision, name, definition, saved_by, saved_at) VALUES (?, ?, ?, ?, ?, ?)`,
			a.ID, revision+1, a.Name, string(definition), nullID(a.SavedBy), now)
		if err != nil {
			return err
		}
		out, err = t.audience(ctx, `WHERE a.id = ? AND v.revision = a.revision`, a.ID)
		return err
	})
	return out, err
}

// holdApp locks the row of an app that was not removed until the commit.
func (t *tx) holdApp(ctx context.Context, app postledger.ID) error {
	var removed sql.NullInt64
	err := t.row(ctx, []any{&removed}, `SELECT removed_at FROM apps WHERE id = ?`+t.forUpdate(), app)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrAppUnknown
	case err == nil && removed.Valid:
		return ErrAppRemoved
	}
	return err
}

// roomForAudience says why a save may not be. The app's row is held.
func (t *tx) roomForAudience(ctx context.Context, a *postledger.Audience, revision int64) error {
	if revision != 0 {
		old, err := t.audience(ctx, `WHERE a.id = ? AND a.app_id = ? AND v.revision = a.revision`, a.ID, a.AppID)
		switch {
		case err != nil:
			return err
		case !old.RemovedAt.IsZero():
			return ErrAudienceRemoved
		case old.Revision != revision:
			return ErrRevisionConflict
		}
	}
	var taken, all int
	if err := t.row(ctx, []any{&taken}, `SELECT count(*) FROM audiences WHERE (app_id = ? AND name = ? AND removed_at IS NULL AND id <> ?) OR (id = ? AND ? = 0)`,
		a.AppID, a.Name, a.ID, a.ID, revision); err != nil {
		return err
	}
	if taken > 0 {
		return ErrAudienceExists
	}
	if revision != 0 {
		return nil
	}
	if err := t.row(ctx, []any{&all}, `SELECT count(*) FROM audiences WHERE app_id = ? AND removed_at IS NULL`, a.AppID); err != nil {
		return err
	}
	if all >= MaxAudiences {
		return ErrAudienceLimit
	}
	return nil
}

// RemoveAudience ends the use of an audience; its versions stay readable by its
// id, and its name is free. Removing it again changes nothing.
func (l *Ledger) RemoveAudience(ctx context.Context, app, id postledger.ID, audit postledger.AuditEvent) error {
	return l.audited(ctx, "remove audience", audit, func(ctx context.Context, t *tx, now int64) error {
		n, err := t.exec(ctx, `UPDATE audiences SET removed_at = ? WHERE id = ? AND app_id = ? AND removed_at IS NULL`, now, id, app)
		if err != nil || n == 1 {
			return err
		}
		if _, err := t.audience(ctx, `WHERE a.id = ? AND a.app_id = ? AND v.revision = a.revision`, id, app); err != nil {
			return err
		}
		return errUnchanged
	})
}

const audienceColumns = `SELECT a.id, a.app_id, v.name, v.revision, a.created_at, v.saved_at, v.saved_by, a.removed_at, v.definition
	FROM audiences a JOIN audience_versions v ON v.audience_id = a.id `

func audienceDest(a *postledger.Audience) []any {
	return []any{
		&a.ID, &a.AppID, &a.Name, &a.Revision,
		timeColumn{&a.CreatedAt},
		timeColumn{&a.UpdatedAt},
		idColumn{&a.SavedBy},
		timeColumn{&a.RemovedAt},
		definitionColumn{&a.AudienceDefinition},
	}
}

// definitionColumn scans what an audience says.
type definitionColumn struct {
	d *postledger.AudienceDefinition
}

func (c definitionColumn) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("scan audience: unexpected %T", src)
	}
	*c.d = postledger.AudienceDefinition{}
	return json.Unmarshal([]byte(text), c.d)
}

func (t *tx) audience(ctx context.Context, where string, args ...any) (postledger.Audience, error) {
	var a postledger.Audience
	err := t.row(ctx, audienceDest(&a), audienceColumns+where, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return a, ErrAudienceUnknown
	}
	return a, err
}

func (t *tx) audiences(ctx context.Context, rest string, args ...any) ([]postledger.Audience, error) {
	var out []postledger.Audience
	err := t.each(ctx, func(rows *sql.Rows) error {
		var a postledger.Audience
		err := rows.Scan(audienceDest(&a)...)
		out = append(out, a)
		return err
	}, audienceColumns+rest, args...)
	return out, err
}

// AudienceByID reads a version of an app's audience, removed or not; revision 0
// is the current one.
func (l *Ledger) AudienceByID(ctx context.Context, app, id postledger.ID, revision int64) (postledger.Audience, error) {
	where, args := `WHERE a.id = ? AND a.app_id = ? AND v.revision = `, []any{id, app}
	if revision == 0 {
		where += `a.revision`
	} else {
		where, args = where+`?`, append(args, revision)
	}
	a, err := l.read().audience(ctx, where, args...)
	if err != nil {
		return a, fmt.Errorf("read audience: %w", err)
	}
	return a, nil
}

// AudienceByName reads the current version of the app's audience that has this
// name now.
func (l *Ledger) AudienceByName(ctx context.Context, app postledger.ID, name string) (postledger.Audience, error) {
	a, err := l.read().audience(ctx, `WHERE a.app_id = ? AND a.name = ? AND a.removed_at IS NULL AND v.revision = a.revision`, app, name)
	if err != nil {
		return a, fmt.Errorf("read audience: %w", err)
	}
	return a, nil
}

// audienceListBytes ends a page of a list of audiences early, whose lenses may have 256 KiB
// each. audienceListPart is how many are read at a time: 4 MiB of them.
const (
	audienceListBytes = 2 << 20
	audienceListPart  = 16
)

// Audiences lists the app's audiences by name, after a name ("" from the start);
// those that were removed are left out. more tells that the page ended before the list:
// by its limit, or sooner where lenses are large.
func (l *Ledger) Audiences(ctx context.Context, app postledger.ID, after string, limit int) (list []postledger.Audience, more bool, err error) {
	list, more, err = audiencePage(limit, func(last *postledger.Audience, n int) ([]postledger.Audience, error) {
		if last != nil {
			after = last.Name
		}
		return l.read().audiences(ctx, `WHERE a.app_id = ? AND a.removed_at IS NULL AND a.name > ? AND v.revision = a.revision ORDER BY a.name LIMIT ?`,
			app, after, n)
	})
	if err != nil {
		return nil, false, fmt.Errorf("list audiences: %w", err)
	}
	return list, more, nil
}

// AudienceVersions lists the versions of an app's audience, removed or not, the
// newest first, from before a revision (0 from the newest). more is as in Audiences.
func (l *Ledger) AudienceVersions(ctx context.Context, app, id postledger.ID, before int64, limit int) (list []postledger.Audience, more bool, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	list, more, err = audiencePage(limit, func(last *postledger.Audience, n int) ([]postledger.Audience, error) {
		if last != nil {
			before = last.Revision
		}
		return l.read().audiences(ctx, `WHERE a.id = ? AND a.app_id = ? AND v.revision < ? ORDER BY v.revision DESC LIMIT ?`, id, app, before, n)
	})
	if err != nil {
		return nil, false, fmt.Errorf("list versions of an audience: %w", err)
	}
	return list, more, nil
}

// audiencePage reads a part after the other, each after the last of the one before.
func audiencePage(limit int, part func(last *postledger.Audience, n int) ([]postledger.Audience, error)) (list []postledger.Audience, more bool, err error) {
	var last *postledger.Audience
	size := 0
	for len(list) < limit {
		n := min(audienceListPart, limit-len(list))
		read, err := part(last, n)
		if err != nil {
			return nil, false, err
		}
		for i := range read {
			if size += len(read[i].Lens); size > audienceListBytes && len(list) > 0 {
				return list, true, nil
			}
			list = append(list, read[i])
		}
		if len(read) < n {
			return list, false, nil
		}
		last = &read[n-1]
	}
	return list, true, nil
}
