package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/postledger/postledger"
)

// ErrGrantUnknown: the app has no such grant.
var ErrGrantUnknown = errors.New("no such grant")

// PutGrant lets an app use a profile, or changes how it may.
func (l *Ledger) PutGrant(ctx context.Context, g postledger.Grant, audit postledger.AuditEvent) error {
	return l.policy(ctx, "put grant", audit, func(ctx context.Context, t *tx, now int64) error {
		if err := t.liveApp(ctx, g.AppID); err != nil {
			return err
		}
		if _, err := t.liveProfile(ctx, g.ProfileID); err != nil {
			return err
		}
		_, err := t.exec(ctx, `INSERT INTO app_profiles (app_id, profile_id, trusted_html, quota, created_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (app_id, profile_id) DO UPDATE SET trusted_html = excluded.trusted_html, quota = excluded.quota,
				created_at = CASE WHEN app_profiles.revoked_at IS NULL THEN app_profiles.created_at ELSE excluded.created_at END,
				revoked_at = NULL`,
			g.AppID, g.ProfileID, g.TrustedHTML, g.Quota, now)
		return err
	})
}

// RevokeGrant takes a grant back: gates obey at once, and what waits is
// canceled by the caller (WaitingUnder). Revoking it again changes nothing.
func (l *Ledger) RevokeGrant(ctx context.Context, app, profile postledger.ID, audit postledger.AuditEvent) error {
	return l.policy(ctx, "revoke grant", audit, func(ctx context.Context, t *tx, now int64) error {
		var revoked sql.NullInt64
		err := t.row(ctx, []any{&revoked}, `SELECT revoked_at FROM app_profiles WHERE app_id = ? AND profile_id = ?`, app, profile)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return ErrGrantUnknown
		case err != nil:
			return err
		case revoked.Valid:
			return errUnchanged
		}
		_, err = t.exec(ctx, `UPDATE app_profiles SET revoked_at = ? WHERE app_id = ? AND profile_id = ?`, now, app, profile)
		return err
	})
}

// Grants lists an app's grants, revoked ones too.
func (l *Ledger) Grants(ctx context.Context, app postledger.ID) ([]postledger.Grant, error) {
	return l.read().grants(ctx, `WHERE app_id = ? ORDER BY profile_id LIMIT ?`, app, policyLimit)
}

func (t *tx) grants(ctx context.Context, rest string, args ...any) ([]postledger.Grant, error) {
	var out []postledger.Grant
	err := t.each(ctx, func(rows *sql.Rows) error {
		var g postledger.Grant
		err := rows.Scan(&g.AppID, &g.ProfileID, &g.TrustedHTML, &g.Quota, timeColumn{&g.CreatedAt}, timeColumn{&g.RevokedAt})
		out = append(out, g)
		return err
	}, `SELECT app_id, profile_id, trusted_html, quota, created_at, revoked_at FROM app_profiles `+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	return out, nil
}

// Policy is what a server keeps in memory and its gates obey.
type Policy struct {
	// Version is PolicyVersion's, read before the rest: what was written
	// meanwhile shows as a newer version at the next look.
	Version  int64
	Profiles []postledger.Profile
	// Grants are those not revoked, Revoked the others.
	Grants, Revoked []postledger.Grant
	// Removed are the apps that were removed.
	Removed []postledger.ID
}

// PolicySnapshot reads all profiles, all grants and the removed apps.
func (l *Ledger) PolicySnapshot(ctx context.Context) (Policy, error) {
	var p Policy
	var err error
	if p.Version, err = l.PolicyVersion(ctx); err != nil {
		return p, err
	}
	t := l.read()
	if p.Profiles, err = t.profiles(ctx); err != nil {
		return p, err
	}
	if p.Grants, err = t.grants(ctx, `WHERE revoked_at IS NULL ORDER BY app_id, profile_id LIMIT ?`, policyLimit); err != nil {
		return p, err
	}
	if p.Revoked, err = t.grants(ctx, `WHERE revoked_at IS NOT NULL ORDER BY app_id, profile_id LIMIT ?`, policyLimit); err != nil {
		return p, err
	}
	p.Removed, err = l.idList(ctx, t, "list removed apps", `SELECT id FROM apps WHERE removed_at IS NOT NULL ORDER BY id LIMIT ?`, policyLimit)
	return p, err
}

// ErrProfileRequired: no profile was named, and the app may not use the
// default one (or there is none).
var ErrProfileRequired = errors.New("a profile must be named: the app may not use the default profile")

// Effective is what an app may do with a profile.
type Effective struct {
	Profile postledger.Profile
	// Quota bounds the app's recipients in any 1,440 minutes: the grant's
	// own, else the profile's; nil means no bound.
	Quota       *int64
	TrustedHTML bool
}

// EffectivePolicy resolves a profile's name (the default profile when empty)
// for an app, by the rule that Accept repeats inside its transaction: an app
// without any grant may use the default profile only, an app with grants what
// they name. The errors are ErrAppUnknown, ErrAppRemoved, ErrProfileUnknown,
// ErrProfileGone, ErrProfileRequired and ErrNotGranted.
func (l *Ledger) EffectivePolicy(ctx context.Context, app postledger.ID, profile string) (Effective, error) {
	e, err := l.effectivePolicy(ctx, app, profile)
	if err != nil {
		return Effective{}, fmt.Errorf("resolve profile: %w", err)
	}
	return e, nil
}

func (l *Ledger) effectivePolicy(ctx context.Context, app postledger.ID, name string) (Effective, error) {
	var e Effective
	t := l.read()
	if err := t.liveApp(ctx, app); err != nil {
		return e, err
	}
	var err error
	if name == "" {
		if e.Profile, err = t.profile(ctx, `WHERE p.is_default`); errors.Is(err, ErrProfileUnknown) {
			err = ErrProfileRequired
		}
	} else {
		e.Profile, err = l.ProfileByName(ctx, name)
	}
	switch {
	case err != nil:
		return e, err
	case !e.Profile.RemovedAt.IsZero():
		return e, ErrProfileGone
	}
	grants, err := t.grants(ctx, `WHERE app_id = ? AND revoked_at IS NULL ORDER BY profile_id LIMIT ?`, app, policyLimit)
	if err != nil {
		return e, err
	}
	e.Quota = e.Profile.Config.QuotaPerDay
	if len(grants) == 0 && e.Profile.IsDefault {
		return e, nil
	}
	for _, g := range grants {
		if g.ProfileID != e.Profile.ID {
			continue
		}
		e.TrustedHTML = g.TrustedHTML
		if g.Quota != nil {
			e.Quota = g.Quota
		}
		return e, nil
	}
	if name == "" {
		return e, ErrProfileRequired
	}
	return e, ErrNotGranted
}
