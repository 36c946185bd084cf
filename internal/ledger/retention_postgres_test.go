package ledger_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
	"github.com/postledger/postledger/internal/testserver"
)

// Invariant 15: a delivery is sent again while a purge already waits for its
// message. The purge had read it as settled, and keeps it.
func TestAPurgeThatWaitsForAResend(t *testing.T) {
	for name, purge := range map[string]func(*ledger.Ledger, time.Time) (ledger.Purged, error){
		"content": func(l *ledger.Ledger, before time.Time) (ledger.Purged, error) {
			return l.PurgeContent(t.Context(), before, postledger.ID{}, 10)
		},
		"records": func(l *ledger.Ledger, before time.Time) (ledger.Purged, error) {
			return l.PurgeRecords(t.Context(), before, postledger.ID{}, 10)
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := testserver.Postgres(t)
			w := ledgertest.NewWorld(t, func(t *testing.T) *ledger.Ledger { return open(t, url) })
			id := w.Send([]string{"a@x.example"})[0]
			w.LeaseN(1)
			w.MustSettle(ledger.Settlement{ID: id, Fence: 1, Mover: postledger.MoverWorker, To: postledger.StatusUnconfirmed, Reason: postledger.ReasonNoAnswer})
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close(t.Context()) })
			exec := func(query string, args ...any) {
				t.Helper()
				if _, err := conn.Exec(t.Context(), query, args...); err != nil {
					t.Fatal(err)
				}
			}
			exec(`UPDATE deliveries SET resolve_by = 1`) // its doubt is old
			message := [16]byte(w.Row(id).MessageID)
			// The resend, as the settle writes it, up to its commit.
			exec(`BEGIN`)
			exec(`UPDATE deliveries SET status = 'queued', due_at = 1, settled_at = NULL, resolve_by = NULL WHERE message_id = $1`, message)
			exec(`UPDATE messages SET unsettled = unsettled + 1, settled_at = NULL WHERE id = $1`, message)
			now, err := w.Now(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			var purged ledger.Purged
			go func() {
				var err error
				purged, err = purge(w.Ledger, now)
				done <- err
			}()
			for waits := 0; waits == 0; {
				if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
					WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waits); err != nil {
					t.Fatal(err)
				}
			}
			exec(`COMMIT`)
			if err := <-done; err != nil || purged.Messages != 0 {
				t.Errorf("purged %+v: %v", purged, err)
			}
			if _, err := w.ReadContent(t.Context(), w.App.ID, message, postledger.AuditEvent{ID: w.NewID(), AppID: w.App.ID, Action: "content.read", Result: "done"}); err != nil {
				t.Errorf("what is sent again has no content: %v", err)
			}
		})
	}
}
