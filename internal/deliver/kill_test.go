package deliver_test

import (
	"strings"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/transport/transporttest"
)

// killCase is a line of the table in docs/states.md: the process is killed at
// a point, and started again.
type killCase struct {
	name string
	// at is a point in the process; step one at the hop, whose hook kills.
	at   string
	step transporttest.Step
	// keep: the hop takes the message before the kill.
	keep bool
	// large makes the body larger than the sockets hold, so that the hop's
	// step is reached in the middle of it.
	large bool
	// recovering is a second kill, in the recovery after the first.
	recovering bool
	// state is what an accepted recipient ends in, copies what the hop took.
	state  postledger.Status
	copies int
}

func killCases() []killCase {
	const (
		sent        = postledger.StatusSent
		unconfirmed = postledger.StatusUnconfirmed
	)
	return []killCase{
		{name: "lease committed", at: "lease_committed:1", state: sent, copies: 1},
		{name: "greeting", step: transporttest.StepGreeting, state: sent, copies: 1},
		{name: "MAIL received", step: transporttest.StepMail, state: sent, copies: 1},
		{name: "MAIL answered", step: transporttest.StepRcpt, state: sent, copies: 1},
		{name: "RCPT answered", step: transporttest.StepData, state: sent, copies: 1},
		{name: "DATA answered, mid-body", step: transporttest.StepBody, large: true, state: sent, copies: 1},
		{name: "before the write of the dot", at: "wire_before_dot:1", state: unconfirmed, copies: 0},
		{name: "after the write of the dot", step: transporttest.StepDot, keep: true, state: unconfirmed, copies: 1},
		{name: "reply read, not journaled", at: "wire_answered:1", state: unconfirmed, copies: 1},
		{name: "journaled, not settled", at: "answer_journaled:1", state: sent, copies: 1},
		{name: "settle about to be sent", at: "settle_before:1", state: sent, copies: 1},
		{name: "settle committed", at: "settle_committed:1", state: sent, copies: 1},
		{name: "recovery between read and write, begun", at: "wire_before_dot:1", recovering: true, state: unconfirmed, copies: 0},
		{name: "recovery between read and write, answered", at: "answer_journaled:1", recovering: true, state: sent, copies: 1},
		{name: "recovery between read and write, not begun", at: "lease_committed:1", recovering: true, state: sent, copies: 1},
	}
}

var killShapes = []struct {
	name    string
	to      []string
	refused string
}{
	{"one recipient", []string{"a@x.example"}, ""},
	{"five recipients", []string{"a@x.example", "b@x.example", "c@x.example", "d@x.example", "e@x.example"}, ""},
	{"five with a refusal", []string{"a@x.example", "gone@x.example", "c@x.example", "d@x.example", "e@x.example"}, "gone@x.example"},
}

// Invariants 4, 5 and 6: kill -9 at each point loses none and sends none twice.
func TestKillPoints(t *testing.T) {
	for _, db := range []string{"sqlite", "postgres"} {
		for _, c := range killCases() {
			for _, shape := range killShapes {
				t.Run(db+"/"+c.name+"/"+shape.name, func(t *testing.T) {
					t.Parallel()
					killAt(t, database(t, db), c, shape.to, shape.refused)
				})
			}
		}
	}
}

func killAt(t *testing.T, url string, c killCase, to []string, refused string) {
	var victim *child
	ready := make(chan struct{})
	hop := transporttest.HopConfig{}
	if c.step != "" {
		hop.Rules = append(hop.Rules, transporttest.Rule{At: c.step, Times: 1, Do: transporttest.Action{
			Hook: func() { <-ready; victim.Kill() }, Keep: c.keep, Drop: true,
		}})
	}
	if refused != "" {
		hop.Rules = append(hop.Rules, transporttest.Rule{
			At: transporttest.StepRcpt, Recipient: refused, Do: transporttest.Answer("550 5.1.1 no such user"),
		})
	}
	r := newRig(t, func(t *testing.T) *ledger.Ledger { return openLedger(t, url) }, hop, nil)
	ids := r.Send(to, func(m *ledger.NewMessage) {
		if c.large {
			m.Content.HTML = "<p>" + strings.Repeat("rente og gebyr ", 600_000) + "</p>"
			m.Message.SizeBytes = int64(len(m.Content.HTML))
		}
	})
	config := childConfig{Database: url, JournalDir: r.dir}

	victim = startChild(t, config, c.at)
	close(ready)
	victim.waitKilled()
	if c.recovering {
		startChild(t, config, "recovery_read:1").waitKilled()
	}
	again := startChild(t, config, "")
	rows := r.settled(ids...)
	again.stop()

	for i, d := range rows {
		want, copies := c.state, c.copies
		if to[i] == refused {
			// Read before the dot, and in the record of it.
			want, copies = postledger.StatusFailed, 0
		}
		if d.Status != want {
			t.Errorf("%s is %s/%s, want %s", to[i], d.Status, d.Reason, want)
		}
		if n := r.copies()[to[i]]; n != copies {
			t.Errorf("%s has %d copies at the hop, want %d", to[i], n, copies)
		}
	}
	if workers, err := r.Workers(t.Context()); err != nil || len(workers) != 1 {
		t.Errorf("workers left besides the world's own: %v %v", workers, err)
	}
	r.hop.TakeFaults() // a killed client leaves the session as it was
}
