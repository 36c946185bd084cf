package ledgertest

import (
	"slices"
	"testing"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// adminAudit: invariant 14, every write of policy leaves one line, a refused
// or empty one leaves none.
func adminAudit(t *testing.T, open Opener) {
	w := NewWorld(t, open)
	ctx := t.Context()
	actions := func(f ledger.AuditFilter) []string {
		t.Helper()
		var out []string
		p := ledger.Paging{Limit: 2}
		for {
			page, err := w.Audit(ctx, f, p)
			must(t, err)
			for _, e := range page.Items {
				if e.At.IsZero() || e.Result == "" {
					t.Fatalf("line %+v", e)
				}
				out = append(out, e.Action)
			}
			if page.Next == "" {
				slices.Reverse(out)
				return out
			}
			p.Cursor = page.Next
		}
	}
	start := actions(ledger.AuditFilter{})
	p := w.newProfile("news")
	_ = w.CreateApp(ctx, w.App, w.did("app.create")) // its id and name are taken
	must(t, w.PutGrant(ctx, postledger.Grant{AppID: w.App.ID, ProfileID: p.ID}, w.did("grant.put")))
	must(t, w.RevokeGrant(ctx, w.App.ID, p.ID, w.did("grant.revoke")))
	must(t, w.RevokeGrant(ctx, w.App.ID, p.ID, w.did("grant.revoke")))
	must(t, w.RemoveProfile(ctx, p.ID, w.did("profile.remove")))
	denial := w.did("message.accept")
	denial.AppID, denial.Result = w.App.ID, "profile_not_allowed"
	must(t, w.AppendAudit(ctx, denial))
	w.Send([]string{"a@x.example"})

	want := append(start, "profile.put", "grant.put", "grant.revoke", "profile.remove", "message.accept", "message.accept")
	if got := actions(ledger.AuditFilter{}); !slices.Equal(got, want) {
		t.Fatalf("trail\n%v\nwant\n%v", got, want)
	}
	if got := actions(ledger.AuditFilter{App: w.App.ID}); !slices.Equal(got, []string{"message.accept", "message.accept"}) {
		t.Fatalf("of the app: %v", got)
	}
	if got := actions(ledger.AuditFilter{Action: "grant.revoke"}); !slices.Equal(got, []string{"grant.revoke"}) {
		t.Fatalf("of the action: %v", got)
	}
	if got := actions(ledger.AuditFilter{Until: time.Now().Add(-time.Minute)}); len(got) != 0 {
		t.Fatalf("of before: %v", got)
	}
	if got := actions(ledger.AuditFilter{Since: time.Now().Add(-time.Minute), Until: time.Now().Add(time.Minute)}); !slices.Equal(got, want) {
		t.Fatalf("of the last minute: %v", got)
	}
}
