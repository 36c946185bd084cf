package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/postledger/postledger"
)

// Errors about API keys; ErrKeyRevoked stands with Accept.
var (
	ErrKeyExists  = errors.New("this API key exists")
	ErrKeyUnknown = errors.New("no such API key")
	ErrKeyExpired = errors.New("the API key has expired")
)

// keyLimit bounds the keys listed of one app.
const keyLimit = 1000

// CreateAPIKey writes a key under the id it has, with the SHA-256 of its
// token: the token itself is never stored.
func (l *Ledger) CreateAPIKey(ctx context.Context, k postledger.APIKey, sum [sha256.Size]byte, audit postledger.AuditEvent) error {
	scopes := make([]string, len(k.Scopes))
	for i, s := range k.Scopes {
		scopes[i] = string(s)
	}
	return l.policy(ctx, "create API key", audit, func(ctx context.Context, t *tx, now int64) error {
		if !k.AppID.IsZero() {
			if err := t.liveApp(ctx, k.AppID); err != nil {
				return err
			}
		}
		n, err := t.exec(ctx, `INSERT INTO api_keys (id, app_id, name, scopes, sum, hint, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			k.ID, nullID(k.AppID), k.Name, strings.Join(scopes, " "), sum[:], k.Hint, now, nullTime(k.ExpiresAt))
		if err == nil && n == 0 {
			return ErrKeyExists
		}
		return err
	})
}

// RevokeAPIKey ends a key. Revoking it again changes nothing.
func (l *Ledger) RevokeAPIKey(ctx context.Context, id postledger.ID, audit postledger.AuditEvent) error {
	return l.policy(ctx, "revoke API key", audit, func(ctx context.Context, t *tx, now int64) error {
		n, err := t.exec(ctx, `UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`, now, id)
		if err != nil || n == 1 {
			return err
		}
		var known int
		if err := t.row(ctx, []any{&known}, `SELECT count(*) FROM api_keys WHERE id = ?`, id); err != nil {
			return err
		}
		if known == 0 {
			return ErrKeyUnknown
		}
		return errUnchanged
	})
}

const apiKeyColumns = `k.id, k.app_id, k.name, k.scopes, k.hint, k.created_at, k.expires_at, k.revoked_at`

func apiKeyDest(k *postledger.APIKey) []any {
	return []any{
		&k.ID, &k.AppID, &k.Name,
		scopesColumn{&k.Scopes},
		&k.Hint,
		timeColumn{&k.CreatedAt},
		timeColumn{&k.ExpiresAt},
		timeColumn{&k.RevokedAt},
	}
}

// scopesColumn scans space-separated scopes.
type scopesColumn struct{ s *[]postledger.Scope }

func (c scopesColumn) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("scan scopes: unexpected %T", src)
	}
	*c.s = nil
	for _, f := range strings.Fields(text) {
		*c.s = append(*c.s, postledger.Scope(f))
	}
	return nil
}

// APIKeys lists an app's keys, or the operators' when app is zero, oldest
// first, with those that have ended.
func (l *Ledger) APIKeys(ctx context.Context, app postledger.ID) ([]postledger.APIKey, error) {
	where, args := `k.app_id = ?`, []any{any(app)}
	if app.IsZero() {
		where, args = `k.app_id IS NULL`, nil
	}
	var out []postledger.APIKey
	err := l.read().each(ctx, func(rows *sql.Rows) error {
		var k postledger.APIKey
		err := rows.Scan(apiKeyDest(&k)...)
		out = append(out, k)
		return err
	}, `SELECT `+apiKeyColumns+` FROM api_keys k WHERE `+where+` ORDER BY k.id LIMIT ?`, append(args, keyLimit)...)
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	return out, nil
}

// APIKeyBySum finds the key whose token has this sum, and its app (zero for an
// operator's key). A key that may not be used any more is returned with
// ErrKeyRevoked, ErrKeyExpired or ErrAppRemoved, so that the denial can be
// audited under its name.
func (l *Ledger) APIKeyBySum(ctx context.Context, sum [sha256.Size]byte) (postledger.APIKey, postledger.App, error) {
	var k postledger.APIKey
	var a postledger.App
	var name sql.NullString
	t := l.read()
	args := []any{sum[:]}
	if t.dialect == sqlite {
		args = []any{micros(t.clock()), sum[:]}
	}
	var now int64
	dest := append(apiKeyDest(&k), &a.ID, &name, timeColumn{&a.CreatedAt}, timeColumn{&a.RemovedAt}, &now)
	err := t.row(ctx, dest, `SELECT `+apiKeyColumns+`, a.id, a.name, a.created_at, a.removed_at, `+t.nowSQL()+`
		FROM api_keys k LEFT JOIN apps a ON a.id = k.app_id WHERE k.sum = ?`, args...)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrKeyUnknown
	}
	a.Name = name.String
	switch {
	case err != nil:
	case !k.RevokedAt.IsZero():
		err = ErrKeyRevoked
	case !k.ExpiresAt.IsZero() && micros(k.ExpiresAt) <= now:
		err = ErrKeyExpired
	case !k.AppID.IsZero() && (a.ID.IsZero() || !a.RemovedAt.IsZero()):
		err = ErrAppRemoved
	}
	if err != nil {
		return k, a, fmt.Errorf("look up API key: %w", err)
	}
	return k, a, nil
}
