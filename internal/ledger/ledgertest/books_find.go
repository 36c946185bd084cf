package ledgertest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
)

// booksFind breaks the books with one statement each.
func booksFind(t *testing.T, open Opener, exec Exec) {
	w := NewWorld(t, open)
	ctx := t.Context()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		must(t, w.life(ctx, rnd))
	}
	sent, _ := w.in(postledger.StatusSent)
	message := w.Row(sent).MessageID
	w.Send([]string{"b@x.example"}, WithKey("lost", "f"))
	if len(w.LeaseN(1)) == 0 {
		t.Fatal("nothing on the wire")
	}
	queued := w.Send([]string{"a@x.example"})[0]
	failed, err := w.Deliveries(ctx, ledger.Filter{App: w.App.ID, Statuses: []postledger.Status{postledger.StatusFailed}}, ledger.Paging{Limit: 1})
	must(t, err)
	bad := failed.Items[0].ID
	for _, c := range []struct {
		name, query string
		args        []any
		undo        string
		undoArgs    []any
		want        []string
	}{
		{
			"a delivery counted that is not there", `UPDATE accept_counts SET deliveries = deliveries + 1`, nil,
			`UPDATE accept_counts SET deliveries = deliveries - 1`, nil,
			[]string{ledger.DiffAccepted},
		},
		{
			"a message counted that is not there", `UPDATE accept_counts SET messages = messages + 1`, nil,
			`UPDATE accept_counts SET messages = messages - 1`, nil,
			[]string{ledger.DiffAcceptedMessages},
		},
		{
			"a settle counted twice", `UPDATE stats_hours SET n = n + 1 WHERE status = 'sent'`, nil,
			`UPDATE stats_hours SET n = n - 1 WHERE status = 'sent'`, nil,
			[]string{ledger.DiffSettled},
		},
		{
			"a state changed by hand", `UPDATE deliveries SET status = 'failed' WHERE id = ?`,
			[]any{sent},
			`UPDATE deliveries SET status = 'sent' WHERE id = ?`,
			[]any{sent},
			[]string{ledger.DiffEvents, ledger.DiffSettled},
		},
		{
			"a recipient too many", `UPDATE messages SET recipients = recipients + 1 WHERE id = ?`,
			[]any{message},
			`UPDATE messages SET recipients = recipients - 1 WHERE id = ?`,
			[]any{message},
			[]string{ledger.DiffRecipients},
		},
		{
			"a message settled too early", `UPDATE messages SET unsettled = 0, settled_at = 1 WHERE id = ?`,
			[]any{w.Row(queued).MessageID},
			`UPDATE messages SET unsettled = 1, settled_at = NULL WHERE id = ?`,
			[]any{w.Row(queued).MessageID},
			[]string{ledger.DiffRecipients},
		},
		{
			"a quota not charged", `UPDATE quotas SET used = used - 1`, nil,
			`UPDATE quotas SET used = used + 1`, nil,
			[]string{ledger.DiffQuota},
		},
		{
			"a quota's minute and sum not charged", `UPDATE quota_minutes SET n = n + 1`, nil,
			`UPDATE quota_minutes SET n = n - 1`, nil,
			[]string{ledger.DiffQuota},
		},
		{
			"a lease of a worker that ended", `UPDATE workers SET ended_at = 1`, nil,
			`UPDATE workers SET ended_at = NULL`, nil,
			[]string{ledger.DiffLease},
		},
		{
			"a queued row that is never due", `UPDATE deliveries SET due_at = NULL WHERE id = ?`,
			[]any{queued},
			`UPDATE deliveries SET due_at = 1 WHERE id = ?`,
			[]any{queued},
			[]string{ledger.DiffColumns},
		},
		{
			"a history's line changed", `UPDATE delivery_events SET to_status = 'queued' WHERE delivery_id = ? AND to_status = 'failed'`,
			[]any{bad},
			`UPDATE delivery_events SET to_status = 'failed' WHERE delivery_id = ? AND to_status = 'queued' AND fence = (SELECT fence FROM deliveries WHERE id = ?)`,
			[]any{bad, bad},
			[]string{ledger.DiffEvents},
		},
		{
			"a final line of a row that went on", `UPDATE deliveries SET fence = fence - 1 WHERE id = ?`,
			[]any{bad},
			`UPDATE deliveries SET fence = fence + 1 WHERE id = ?`,
			[]any{bad},
			[]string{ledger.DiffEvents},
		},
		{
			"content called purged", `UPDATE messages SET content_purged_at = 1 WHERE id = ?`,
			[]any{message},
			`UPDATE messages SET content_purged_at = NULL WHERE id = ?`,
			[]any{message},
			[]string{ledger.DiffContent},
		},
		{
			"a key of nothing", `UPDATE idempotency_keys SET message_id = app_id WHERE key = 'lost'`, nil,
			`DELETE FROM idempotency_keys WHERE key = 'lost'`, nil,
			[]string{ledger.DiffKeys},
		},
		{
			"a content lost", `DELETE FROM contents WHERE message_id = ?`,
			[]any{message},
			`INSERT INTO contents (message_id) VALUES (?)`,
			[]any{message},
			[]string{ledger.DiffContent},
		},
		{
			// The last: what it breaks is not put back.
			"a delivery lost", `DELETE FROM deliveries WHERE id = ?`,
			[]any{sent},
			"", nil,
			[]string{ledger.DiffAccepted, ledger.DiffRecipients, ledger.DiffQuota, ledger.DiffSettled},
		},
	} {
		exec(t, w.Ledger, c.query, c.args...)
		r, err := w.Books(ctx, nil)
		must(t, err)
		var got []string
		for _, d := range r.Differences {
			got = append(got, d.Kind)
			if d.Count == 0 || len(d.Samples) == 0 || len(d.Samples) > 10 {
				t.Errorf("%s: difference %+v", c.name, d)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: found %v, want %v\n%+v", c.name, got, c.want, r)
		}
		if c.undo == "" {
			continue
		}
		exec(t, w.Ledger, c.undo, c.undoArgs...)
		if r, err = w.Books(ctx, nil); err != nil || len(r.Differences) != 0 {
			t.Fatalf("%s, undone: %+v, %v", c.name, r.Differences, err)
		}
	}
}
