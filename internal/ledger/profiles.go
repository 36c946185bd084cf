package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/postledger/postledger"
)

// Errors about profiles; ErrProfileGone (removed) stands with Accept.
var (
	ErrProfileExists    = errors.New("a profile of this name exists")
	ErrProfileUnknown   = errors.New("no such profile")
	ErrProfileIsDefault = errors.New("the profile is the default: make another one the default first")
	ErrRevisionConflict = errors.New("the profile was changed since this revision was read")
)

// PutProfile creates a profile (revision 0; under its id, or a new one) or
// replaces the one that still has the given revision. Pause and alarm are not
// part of it. At any time one profile is the default: the first one becomes
// it, another becomes it by IsDefault, and it does not cease to be by a put.
func (l *Ledger) PutProfile(ctx context.Context, p postledger.Profile, revision int64, audit postledger.AuditEvent) (postledger.Profile, error) {
	config, err := json.Marshal(p.Config)
	if err != nil {
		return p, fmt.Errorf("put profile: encode config: %w", err)
	}
	if revision == 0 && p.ID.IsZero() {
		p.ID = l.NewID()
	}
	if audit.TargetID == "" {
		audit.TargetID = p.ID.String()
	}
	var out postledger.Profile
	err = l.policy(ctx, "put profile", audit, func(ctx context.Context, t *tx, now int64) error {
		var defaults int
		if err := t.row(ctx, []any{&defaults}, `SELECT count(*) FROM profiles WHERE is_default`); err != nil {
			return err
		}
		makeDefault := p.IsDefault || defaults == 0
		var old postledger.Profile
		if revision != 0 {
			if old, err = t.profile(ctx, `WHERE id = ?`, p.ID); err != nil {
				return err
			}
			switch {
			case !old.RemovedAt.IsZero():
				return ErrProfileGone
			case old.Revision != revision:
				return ErrRevisionConflict
			case old.IsDefault && !p.IsDefault:
				return ErrProfileIsDefault
			}
		}
		var taken int
		if err := t.row(ctx, []any{&taken}, `SELECT count(*) FROM profiles WHERE (name = ? AND removed_at IS NULL AND id <> ?) OR (id = ? AND ? = 0)`,
			p.Name, p.ID, p.ID, revision); err != nil {
			return err
		}
		if taken > 0 {
			return ErrProfileExists
		}
		if makeDefault && !old.IsDefault {
			if _, err := t.exec(ctx, `UPDATE profiles SET is_default = ?, revision = revision + 1, updated_at = ? WHERE is_default`, false, now); err != nil {
				return fmt.Errorf("unset the old default: %w", err)
			}
		}
		if revision == 0 {
			_, err = t.exec(ctx, `INSERT INTO profiles (id, name, revision, is_default, config, secrets, created_at, updated_at)
				VALUES (?, ?, 1, ?, ?, ?, ?, ?)`, p.ID, p.Name, makeDefault, string(config), nullBytes(p.Secrets), now, now)
		} else {
			_, err = t.exec(ctx, `UPDATE profiles SET name = ?, revision = revision + 1, is_default = ?, config = ?, secrets = ?, updated_at = ?
				WHERE id = ?`, p.Name, makeDefault, string(config), nullBytes(p.Secrets), now, p.ID)
		}
		if err != nil {
			return err
		}
		out, err = t.profile(ctx, `WHERE id = ?`, p.ID)
		return err
	})
	return out, err
}

func nullBytes(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// PauseProfile stops deliveries of a profile; what waits keeps waiting. An
// alarm says that Postledger does it by itself: it does not replace an
// operator's pause, nor an alarm that is already there. An operator's pause
// (no alarm) takes over from an alarm.
func (l *Ledger) PauseProfile(ctx context.Context, id postledger.ID, reason, alarm string, audit postledger.AuditEvent) error {
	return l.policy(ctx, "pause profile", audit, func(ctx context.Context, t *tx, now int64) error {
		p, err := t.liveProfile(ctx, id)
		if err != nil {
			return err
		}
		if alarm != "" && !p.PausedAt.IsZero() {
			return errUnchanged
		}
		_, err = t.exec(ctx, `UPDATE profiles SET paused_at = coalesce(paused_at, ?), pause_reason = ?, alarm = ?, updated_at = ? WHERE id = ?`,
			now, reason, alarm, now, id)
		return err
	})
}

// ResumeProfile ends a pause, whoever made it.
func (l *Ledger) ResumeProfile(ctx context.Context, id postledger.ID, audit postledger.AuditEvent) error {
	return l.policy(ctx, "resume profile", audit, func(ctx context.Context, t *tx, now int64) error {
		p, err := t.liveProfile(ctx, id)
		if err != nil {
			return err
		}
		if p.PausedAt.IsZero() {
			return errUnchanged
		}
		_, err = t.exec(ctx, `UPDATE profiles SET paused_at = NULL, pause_reason = NULL, alarm = NULL, updated_at = ? WHERE id = ?`, now, id)
		return err
	})
}

// RemoveProfile marks a profile: gates obey the mark, and what waits is
// canceled by the caller (WaitingUnder). Its name is free again. Removing it
// again changes nothing.
func (l *Ledger) RemoveProfile(ctx context.Context, id postledger.ID, audit postledger.AuditEvent) error {
	return l.policy(ctx, "remove profile", audit, func(ctx context.Context, t *tx, now int64) error {
		p, err := t.liveProfile(ctx, id)
		switch {
		case errors.Is(err, ErrProfileGone):
			return errUnchanged
		case err != nil:
			return err
		case p.IsDefault:
			return ErrProfileIsDefault
		}
		_, err = t.exec(ctx, `UPDATE profiles SET removed_at = ?, revision = revision + 1, updated_at = ? WHERE id = ?`, now, now, id)
		return err
	})
}

const profileColumns = `p.id, p.name, p.revision, p.is_default, p.config, p.secrets, p.paused_at, p.pause_reason, p.alarm,
	p.removed_at, p.created_at, p.updated_at`

func profileDest(p *postledger.Profile) []any {
	return []any{
		&p.ID, &p.Name, &p.Revision, &p.IsDefault,
		configColumn{&p.Config},
		&p.Secrets,
		timeColumn{&p.PausedAt},
		textColumn[string]{&p.PauseReason},
		textColumn[string]{&p.Alarm},
		timeColumn{&p.RemovedAt},
		timeColumn{&p.CreatedAt},
		timeColumn{&p.UpdatedAt},
	}
}

// configColumn scans a profile's configuration.
type configColumn struct{ c *postledger.ProfileConfig }

func (c configColumn) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("scan profile config: unexpected %T", src)
	}
	*c.c = postledger.ProfileConfig{}
	return json.Unmarshal([]byte(text), c.c)
}

func (t *tx) profile(ctx context.Context, where string, args ...any) (postledger.Profile, error) {
	var p postledger.Profile
	err := t.row(ctx, profileDest(&p), `SELECT `+profileColumns+` FROM profiles p `+where, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return p, ErrProfileUnknown
	}
	return p, err
}

// liveProfile reads a profile that was not removed.
func (t *tx) liveProfile(ctx context.Context, id postledger.ID) (postledger.Profile, error) {
	p, err := t.profile(ctx, `WHERE id = ?`, id)
	if err == nil && !p.RemovedAt.IsZero() {
		err = ErrProfileGone
	}
	return p, err
}

// ProfileByID reads a profile, removed or not.
func (l *Ledger) ProfileByID(ctx context.Context, id postledger.ID) (postledger.Profile, error) {
	p, err := l.read().profile(ctx, `WHERE id = ?`, id)
	if err != nil {
		return p, fmt.Errorf("read profile: %w", err)
	}
	return p, nil
}

// ProfileByName reads the profile that has this name, or the one that had it
// last when all were removed.
func (l *Ledger) ProfileByName(ctx context.Context, name string) (postledger.Profile, error) {
	p, err := l.read().profile(ctx, `WHERE name = ? ORDER BY CASE WHEN removed_at IS NULL THEN 0 ELSE 1 END, removed_at DESC LIMIT 1`, name)
	if err != nil {
		return p, fmt.Errorf("read profile: %w", err)
	}
	return p, nil
}

// Profiles lists all profiles by name, removed ones too.
func (l *Ledger) Profiles(ctx context.Context) ([]postledger.Profile, error) {
	return l.read().profiles(ctx)
}

func (t *tx) profiles(ctx context.Context) ([]postledger.Profile, error) {
	var out []postledger.Profile
	err := t.each(ctx, func(rows *sql.Rows) error {
		var p postledger.Profile
		err := rows.Scan(profileDest(&p)...)
		out = append(out, p)
		return err
	}, `SELECT `+profileColumns+` FROM profiles p ORDER BY p.name, p.id LIMIT ?`, policyLimit)
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	return out, nil
}
