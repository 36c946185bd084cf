package postledger_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/postledger/postledger"
)

func TestTransitionsAreWhole(t *testing.T) {
	seen := map[[2]postledger.Status]bool{}
	for _, tr := range postledger.Transitions() {
		k := [2]postledger.Status{tr.From, tr.To}
		if seen[k] {
			t.Errorf("%s to %s stands twice", tr.From, tr.To)
		}
		seen[k] = true
		if !tr.From.Valid() || !tr.To.Valid() || len(tr.By) == 0 || tr.When == "" {
			t.Errorf("incomplete: %+v", tr)
		}
		for _, m := range tr.By {
			if !postledger.CanMove(tr.From, tr.To, m) {
				t.Errorf("CanMove denies %+v", tr)
			}
		}
	}
	for _, s := range postledger.Statuses() {
		for _, m := range []postledger.Mover{postledger.MoverWorker, postledger.MoverGate, postledger.MoverSweep, postledger.MoverRecovery, postledger.MoverOperator} {
			if postledger.CanMove(s, s, m) {
				t.Errorf("%s may move to itself", s)
			}
		}
	}
}

// What was decided for good never moves: the only settled state that may is
// the one with doubt.
func TestSettledStatesStay(t *testing.T) {
	for _, tr := range postledger.Transitions() {
		if tr.From.Settled() && tr.From != postledger.StatusUnconfirmed {
			t.Errorf("%s moves to %s", tr.From, tr.To)
		}
	}
}

// Every state can be reached from queued, and each but the settled ones be left.
func TestStatesAreConnected(t *testing.T) {
	reached := map[postledger.Status]bool{postledger.StatusQueued: true}
	for range postledger.Statuses() {
		for _, tr := range postledger.Transitions() {
			if reached[tr.From] {
				reached[tr.To] = true
			}
		}
	}
	for _, s := range postledger.Statuses() {
		if !reached[s] {
			t.Errorf("%s cannot be reached", s)
		}
	}
}

// The diagram and the table in docs/states.md are this table.
func TestVerifyStatesDoc(t *testing.T) {
	b, err := os.ReadFile("docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	var arrows, rows []string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if from, rest, ok := strings.Cut(line, " --> "); ok {
			to, when, _ := strings.Cut(rest, ": ")
			if from != "[*]" && to != "[*]" {
				arrows = append(arrows, from+" "+to+" "+when)
			}
		}
		if cells := strings.Split(line, " | "); len(cells) == 4 && strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.Trim(line, "| "))
		}
	}
	var wantArrows, wantRows []string
	for _, tr := range postledger.Transitions() {
		wantArrows = append(wantArrows, fmt.Sprintf("%s %s %s", tr.From, tr.To, tr.When))
		by := make([]string, len(tr.By))
		for i, m := range tr.By {
			by[i] = string(m)
		}
		wantRows = append(wantRows, fmt.Sprintf("`%s` | `%s` | %s | %s", tr.From, tr.To, strings.Join(by, ", "), tr.When))
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{{"diagram", arrows, wantArrows}, {"table", rows, wantRows}} {
		slices.Sort(c.got)
		slices.Sort(c.want)
		if !slices.Equal(c.got, c.want) {
			t.Errorf("the %s in docs/states.md differs from the table in state.go\n doc: %s\ncode: %s", c.what, strings.Join(c.got, "\n      "), strings.Join(c.want, "\n      "))
		}
	}
	for _, r := range postledger.Reasons() {
		if !strings.Contains(string(b), "`"+string(r)+"`") {
			t.Errorf("docs/states.md does not explain the reason %s", r)
		}
	}
}
