package deliver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/crashtest"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/ledger/ledgertest"
)

func TestRandomKills(t *testing.T) {
	t.Parallel()
	randomKills(t, 20, 1500)
}

func TestRandomKillsLong(t *testing.T) {
	if os.Getenv("POSTLEDGER_LONG") == "" {
		t.Skip("POSTLEDGER_LONG is not set")
	}
	randomKills(t, 200, 5000)
}

// Invariants 4, 5 and 6: kill -9 at random moments loses none, sends none
// twice, and leaves in doubt only what was on the wire.
func randomKills(t *testing.T, kills, deliveries int) {
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) {
			if kills <= 20 {
				t.Parallel()
			}
			url := database(t, db)
			w := ledgertest.NewWorld(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, url) })
			sink := crashtest.StartSink(t)
			useSink(t, w, sink.Port)
			ids := crowd(t, w, deliveries)
			config := childConfig{Database: url, JournalDir: t.TempDir()}
			check := crashtest.NewCheck(t, w.Ledger, sink, config.JournalDir)

			left := ids // a settled one is settled for good under this policy

			last := crashtest.Storm(t, sink, crashtest.Plan{
				Kills: kills, Deliveries: deliveries,
				Start:     func(int) crashtest.Process { return spawn(t, config, "") },
				AfterKill: func(living []crashtest.Process) { check.AfterKill(living...) },
				Left: func() bool {
					for len(left) > 0 && w.Row(left[0]).Status.Settled() {
						left = left[1:]
					}
					return len(left) > 0
				},
			})
			r := &rig{World: w, t: t, changed: make(chan struct{})}
			r.settled(ids...)
			last[0].(*child).stop()
			states := check.End(ids).States
			t.Logf("%d kills met %d leased, %d begun and %d answered deliveries; in the end %v",
				kills, check.Leased, check.Begun, check.Answered, states)
			if check.Leased == 0 || states[postledger.StatusFailed] == 0 {
				t.Error("no kill met a lease, or nothing was refused: the test has shown nothing")
			}
		})
	}
}

// useSink points the world's profile to a hop of this machine.
func useSink(t *testing.T, w *ledgertest.World, port int) {
	t.Helper()
	p := w.Profile
	p.Config.Transport = "smtp"
	p.Config.Settings, _ = json.Marshal(settings{port})
	saved, err := w.PutProfile(t.Context(), p, p.Revision, postledger.AuditEvent{ID: w.NewID(), Action: "profile.put", Result: "done"})
	if err != nil {
		t.Fatal(err)
	}
	w.Profile = saved
}

// crowd accepts messages to one to five recipients of both lanes, some of
// which the sink refuses; every address is another.
func crowd(t *testing.T, w *ledgertest.World, deliveries int) []postledger.ID {
	t.Helper()
	var ids []postledger.ID
	var batch []ledger.NewMessage
	for n := 0; len(ids) < deliveries; n++ {
		to := make([]string, min(1+n%5, deliveries-len(ids)))
		for i := range to {
			to[i] = fmt.Sprintf("m%d-%d@x.example", n, i)
			if (n+i)%31 == 7 {
				to[i] = crashtest.Refused + to[i]
			}
		}
		lane := postledger.LaneImmediate
		if n%3 == 0 {
			lane = postledger.LaneBulk
		}
		m := w.Message(to, ledgertest.WithLane(lane))
		for i := range m.Deliveries {
			ids = append(ids, m.Deliveries[i].ID)
		}
		batch = append(batch, m)
		if len(batch) == 100 || len(ids) == deliveries {
			if _, err := w.Accept(t.Context(), w.Request(batch...)); err != nil {
				t.Fatal(err)
			}
			batch = nil
		}
	}
	return ids
}
