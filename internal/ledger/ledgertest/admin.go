package ledgertest

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// Admin: apps, keys, profiles, grants and their audit trail (invariants 14 and 18).
func Admin(t *testing.T, open Opener) {
	t.Run("apps", func(t *testing.T) { adminApps(t, open) })
	t.Run("keys", func(t *testing.T) { adminKeys(t, open) })
	t.Run("profiles", func(t *testing.T) { adminProfiles(t, open) })
	t.Run("pause", func(t *testing.T) { adminPause(t, open) })
	t.Run("grants", func(t *testing.T) { adminGrants(t, open) })
	t.Run("snapshot", func(t *testing.T) { adminSnapshot(t, open) })
	t.Run("backlog", func(t *testing.T) { adminBacklog(t, open) })
	t.Run("suppressions", func(t *testing.T) { adminSuppressions(t, open) })
	t.Run("retention settings", func(t *testing.T) { adminSettings(t, open) })
	t.Run("audiences", func(t *testing.T) { adminAudiences(t, open) })
	t.Run("audit", func(t *testing.T) { adminAudit(t, open) })
}

// did is a line of the audit trail.
func (w *World) did(action string) postledger.AuditEvent {
	return postledger.AuditEvent{ID: w.NewID(), Action: action, ActorType: "key", ActorID: "op", Result: "done"}
}

// newApp makes another app.
func (w *World) newApp(name string) postledger.App {
	w.T.Helper()
	a := postledger.App{ID: w.NewID(), Name: name}
	must(w.T, w.CreateApp(w.T.Context(), a, w.did("app.create")))
	return a
}

// newProfile makes another profile.
func (w *World) newProfile(name string) postledger.Profile {
	w.T.Helper()
	p, err := w.PutProfile(w.T.Context(), postledger.Profile{Name: name, Config: w.Profile.Config}, 0, w.did("profile.put"))
	must(w.T, err)
	return p
}

// wantErr fails unless err is the wanted one.
func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func adminApps(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	billing := w.newApp("billing")
	wantErr(t, w.CreateApp(ctx, postledger.App{ID: w.NewID(), Name: "billing"}, w.did("app.create")), ledger.ErrAppExists)
	got, err := w.AppByName(ctx, "billing")
	must(t, err)
	if got.ID != billing.ID || got.CreatedAt.IsZero() || !got.RemovedAt.IsZero() {
		t.Fatalf("read %+v", got)
	}
	must(t, w.RemoveApp(ctx, billing.ID, w.did("app.remove")))
	must(t, w.RemoveApp(ctx, billing.ID, w.did("app.remove")))
	wantErr(t, w.RemoveApp(ctx, w.NewID(), w.did("app.remove")), ledger.ErrAppUnknown)
	if got, err = w.AppByID(ctx, billing.ID); err != nil || got.RemovedAt.IsZero() {
		t.Fatalf("removed: %+v, %v", got, err)
	}
	_, err = w.AppByName(ctx, "billing")
	wantErr(t, err, ledger.ErrAppUnknown)
	w.newApp("billing") // its name is free again
	apps, err := w.Apps(ctx)
	must(t, err)
	if len(apps) != 3 {
		t.Fatalf("listed %d apps", len(apps))
	}
}

func adminKeys(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	make1 := func(token string, app postledger.ID, expires time.Time) postledger.APIKey {
		k := postledger.APIKey{
			ID: w.NewID(), AppID: app, Name: token, Hint: "h" + token, ExpiresAt: expires,
			Scopes: []postledger.Scope{postledger.ScopeSend, postledger.ScopeRead},
		}
		must(t, w.CreateAPIKey(ctx, k, sha256.Sum256([]byte(token)), w.did("key.create")))
		return k
	}
	look := func(token string) (postledger.APIKey, postledger.App, error) {
		return w.APIKeyBySum(ctx, sha256.Sum256([]byte(token)))
	}
	a := make1("a", w.App.ID, time.Time{})
	got, app, err := look("a")
	must(t, err)
	if got.ID != a.ID || app.ID != w.App.ID || app.Name != w.App.Name || len(got.Scopes) != 2 || got.Scopes[1] != postledger.ScopeRead || got.Hint != "ha" {
		t.Fatalf("read %+v of %+v", got, app)
	}
	wantErr(t, w.CreateAPIKey(ctx, postledger.APIKey{ID: w.NewID()}, sha256.Sum256([]byte("a")), w.did("key.create")), ledger.ErrKeyExists)
	wantErr(t, w.CreateAPIKey(ctx, postledger.APIKey{ID: w.NewID(), AppID: w.NewID()}, [32]byte{1}, w.did("key.create")), ledger.ErrAppUnknown)

	op := make1("op", postledger.ID{}, time.Time{})
	if got, app, err = look("op"); err != nil || !got.AppID.IsZero() || !app.ID.IsZero() {
		t.Fatalf("operator's key: %+v %+v %v", got, app, err)
	}
	make1("old", w.App.ID, time.Now().Add(-time.Second))
	_, _, err = look("old")
	wantErr(t, err, ledger.ErrKeyExpired)
	make1("fresh", w.App.ID, time.Now().Add(time.Hour))
	_, _, err = look("fresh")
	must(t, err)

	must(t, w.RevokeAPIKey(ctx, a.ID, w.did("key.revoke")))
	must(t, w.RevokeAPIKey(ctx, a.ID, w.did("key.revoke")))
	wantErr(t, w.RevokeAPIKey(ctx, w.NewID(), w.did("key.revoke")), ledger.ErrKeyUnknown)
	got, _, err = look("a")
	wantErr(t, err, ledger.ErrKeyRevoked)
	if got.ID != a.ID {
		t.Fatal("a denied key is not named")
	}
	_, _, err = look("never made")
	wantErr(t, err, ledger.ErrKeyUnknown)

	keys, err := w.APIKeys(ctx, w.App.ID)
	must(t, err)
	if len(keys) != 3 || keys[0].RevokedAt.IsZero() {
		t.Fatalf("listed %+v", keys)
	}
	if keys, err = w.APIKeys(ctx, postledger.ID{}); err != nil || len(keys) != 1 || keys[0].ID != op.ID {
		t.Fatalf("operators' keys %+v, %v", keys, err)
	}
	must(t, w.RemoveApp(ctx, w.App.ID, w.did("app.remove")))
	_, _, err = look("fresh")
	wantErr(t, err, ledger.ErrAppRemoved)
}

func adminSuppressions(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	other := w.newApp("other")
	for _, a := range []string{"c@x.example", "a@x.example", "b@x.example"} {
		must(t, w.PutSuppression(ctx, ledger.Suppression{AppID: w.App.ID, AddressFolded: a, Reason: "complaint", Source: "operator"}, w.did("suppression.put")))
	}
	must(t, w.PutSuppression(ctx, ledger.Suppression{AppID: w.App.ID, AddressFolded: "a@x.example", Reason: "manual", Source: "app"}, w.did("suppression.put")))
	must(t, w.PutSuppression(ctx, ledger.Suppression{AppID: other.ID, AddressFolded: "d@x.example", Reason: "manual", Source: "app"}, w.did("suppression.put")))
	page, err := w.Suppressions(ctx, w.App.ID, "", 2)
	must(t, err)
	if len(page) != 2 || page[0].AddressFolded != "a@x.example" || page[0].Reason != "manual" || page[0].CreatedAt.IsZero() {
		t.Fatalf("first page %+v", page)
	}
	if page, err = w.Suppressions(ctx, w.App.ID, page[1].AddressFolded, 2); err != nil || len(page) != 1 || page[0].AddressFolded != "c@x.example" {
		t.Fatalf("second page %+v, %v", page, err)
	}
	var ask []ledger.AppAddress
	for range 300 { // more than one chunk
		ask = append(ask, ledger.AppAddress{AppID: w.App.ID, AddressFolded: "z@x.example"})
	}
	ask = append(
		ask,
		ledger.AppAddress{AppID: w.App.ID, AddressFolded: "a@x.example"},
		ledger.AppAddress{AppID: w.App.ID, AddressFolded: "d@x.example"}, // the other app's
		ledger.AppAddress{AppID: other.ID, AddressFolded: "d@x.example"},
	)
	found, err := w.Suppressed(ctx, ask)
	must(t, err)
	if len(found) != 2 || found[ask[300]] != "manual" || found[ask[302]] != "manual" {
		t.Fatalf("found %+v", found)
	}
	must(t, w.DeleteSuppression(ctx, w.App.ID, "a@x.example", w.did("suppression.delete")))
	wantErr(t, w.DeleteSuppression(ctx, w.App.ID, "a@x.example", w.did("suppression.delete")), ledger.ErrNotSuppressed)
	if found, err = w.Suppressed(ctx, nil); err != nil || len(found) != 0 {
		t.Fatalf("of none: %v, %v", found, err)
	}
}

func adminSettings(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	r, err := w.Retention(ctx)
	must(t, err)
	if r != ledger.DefaultRetention() || r.KeyDays != 90 {
		t.Fatalf("default %+v", r)
	}
	for field, bad := range map[string]ledger.RetentionSettings{
		"content_days": {ContentDays: 20, RecordDays: 10, KeyDays: 90, AuditDays: 90},
		"record_days":  {ContentDays: 20, RecordDays: 0, KeyDays: 90, AuditDays: 90},
		"key_days":     {ContentDays: 20, RecordDays: 100, KeyDays: 90, AuditDays: 90},
		"audit_days":   {ContentDays: 20, RecordDays: 80, KeyDays: 90, AuditDays: 100000},
	} {
		var se *ledger.SettingError
		if err := w.PutRetention(ctx, bad, w.did("retention.put")); !errors.As(err, &se) || se.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	want := ledger.RetentionSettings{ContentDays: 7, RecordDays: 100, KeyDays: 120, AuditDays: 200}
	must(t, w.PutRetention(ctx, want, w.did("retention.put")))
	if r, err = w.Retention(ctx); err != nil || r != want {
		t.Fatalf("read %+v, %v", r, err)
	}
}
