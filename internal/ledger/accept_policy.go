package ledger

import (
	"database/sql"

	"github.com/postledger/postledger"
)

// policyKey is what one look at the policy tables answers for.
type policyKey struct{ app, profile, apiKey postledger.ID }

// checkPolicy repeats, inside the transaction, what was checked when the
// request came in: a removed profile or a revoked grant or key refuses it.
func checkPolicy(group []*answer, policies map[policyKey]policy) {
	for _, a := range group {
		if a.err != nil || len(a.fresh) == 0 {
			continue
		}
		p := policies[policyKey{a.req.AppID, a.req.ProfileID, a.req.APIKeyID}]
		switch {
		case !p.keyValid:
			a.err = ErrKeyRevoked
		case p.revision == 0:
			a.err = ErrProfileGone
		case !p.granted:
			a.err = ErrNotGranted
		case p.revision != a.req.Revision || p.trusted != a.req.TrustedHTML || !equalPtr(p.quota, a.req.Quota, p.hasQuota):
			a.err = ErrProfileChanged
		}
	}
}

// equalPtr compares a grant's own quota, when it has one, with what the
// request was validated against; a profile's quota is covered by its revision.
func equalPtr(grant, req *int64, has bool) bool {
	return !has || (req != nil && *grant == *req)
}

type policy struct {
	revision int64
	granted  bool
	trusted  bool
	keyValid bool
	hasQuota bool
	quota    *int64
}

// queuePolicies asks for the policies of a group's requests. An app without any
// grant may use the default profile only; an app with grants may use what they
// name. What has no answer stays the zero policy: the app is gone, and its keys
// with it.
func queuePolicies(t *tx, group []*answer) map[policyKey]policy {
	out := map[policyKey]policy{}
	var keys []policyKey
	for _, a := range group {
		k := policyKey{a.req.AppID, a.req.ProfileID, a.req.APIKeyID}
		if _, ok := out[k]; !ok {
			out[k] = policy{}
			keys = append(keys, k)
		}
	}
	scan := func(r row) error {
		var k policyKey
		var p policy
		var revision, quota sql.NullInt64
		var trusted sql.NullBool
		err := r.Scan(&k.app, &k.profile, &k.apiKey, &revision, &p.granted, &trusted, &quota, &p.keyValid)
		p.revision, p.trusted = revision.Int64, trusted.Bool
		if quota.Valid {
			p.hasQuota, p.quota = true, &quota.Int64
		}
		out[k] = p
		return err
	}
	const what = "check policy"
	answers := ` SELECT q.app_id, q.profile_id, q.key_id, p.revision,
			p.id IS NOT NULL AND (g.app_id IS NOT NULL OR p.is_default AND NOT EXISTS (
				SELECT 1 FROM app_profiles o WHERE o.app_id = a.id AND o.revoked_at IS NULL)),
			g.trusted_html, g.quota,
			q.key_id IS NULL OR EXISTS (SELECT 1 FROM api_keys k WHERE k.id = q.key_id AND k.revoked_at IS NULL
				AND (k.expires_at IS NULL OR k.expires_at > ` + t.nowSQL() + `))
		FROM q JOIN apps a ON a.id = q.app_id AND a.removed_at IS NULL
		LEFT JOIN profiles p ON p.id = q.profile_id AND p.removed_at IS NULL
		LEFT JOIN app_profiles g ON g.app_id = a.id AND g.profile_id = p.id AND g.revoked_at IS NULL`
	if t.dialect == postgres {
		apps, profiles, apiKeys := make([]postledger.ID, len(keys)), make([]postledger.ID, len(keys)), make([]postledger.ID, len(keys))
		for i, k := range keys {
			apps[i], profiles[i], apiKeys[i] = k.app, k.profile, k.apiKey
		}
		t.queueRead(what, scan, `WITH q AS (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS u(app_id, profile_id, key_id))`+answers,
			apps, profiles, apiKeys)
		return out
	}
	for _, k := range keys {
		t.queueRead(what, scan, `WITH q(app_id, profile_id, key_id) AS (VALUES (?, ?, ?))`+answers,
			k.app, k.profile, nullID(k.apiKey), t.us)
	}
	return out
}

// nowSQL is the transaction's moment in a statement: a placeholder for t.us,
// or the database's own clock.
func (t *tx) nowSQL() string {
	if t.dialect == postgres {
		return "now_us()"
	}
	return "?"
}
