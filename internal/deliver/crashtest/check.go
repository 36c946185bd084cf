package crashtest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/deliver/journal"
	"github.com/postledger/postledger/internal/ledger"
)

// Ledger is what the check reads.
type Ledger interface {
	ReadState(ctx context.Context) (ledger.State, error)
	Workers(ctx context.Context) ([]ledger.Worker, error)
	Leases(ctx context.Context, worker, after postledger.ID, limit int) ([]ledger.Leased, error)
	DeliveryByID(ctx context.Context, id postledger.ID) (postledger.Delivery, bool, error)
}

// Check compares the witnesses.
type Check struct {
	tb         testing.TB
	ledger     Ledger
	sink       *Sink
	journalDir string
	// begun and answered are what the journals of killed processes said.
	begun, answered map[journal.Member]bool
	// doubts counts the leases under which a delivery was in doubt.
	doubts map[postledger.ID]int
	// Connections, unless zero, is how many a process has: no journal may have
	// more envelopes in doubt.
	Connections int
	// Resends says that the policy sends what is unconfirmed again.
	Resends bool
	// Leased, Begun and Answered count what the kills met, so that a caller
	// can tell whether they met anything.
	Leased, Begun, Answered int
}

// NewCheck makes one; each delivery must have an address of its own.
func NewCheck(tb testing.TB, l Ledger, s *Sink, journalDir string) *Check {
	return &Check{
		tb: tb, ledger: l, sink: s, journalDir: journalDir,
		begun: map[journal.Member]bool{}, answered: map[journal.Member]bool{}, doubts: map[postledger.ID]int{},
	}
}

// AfterKill is called between a kill and the next start. Whoever lives has been
// stopped; what its journal says proves nothing about a kill.
func (c *Check) AfterKill(living ...Process) {
	c.tb.Helper()
	state, err := c.ledger.ReadState(c.tb.Context())
	if err != nil {
		c.tb.Fatal(err)
	}
	entries, err := journal.List(c.journalDir, state.LedgerID)
	if err != nil {
		c.tb.Fatal(err)
	}
	recorded := map[journal.Member]bool{}
	for _, e := range entries {
		lives := slices.ContainsFunc(living, func(p Process) bool { return holds(c.tb, p, e.Path) })
		inDoubt := 0
		for _, r := range c.records(e.Path) {
			if !r.Answered {
				inDoubt++
			}
			for i, m := range r.Members {
				recorded[m] = true
				switch {
				case lives:
				case r.Answered:
					c.note(c.answered, m, &c.Answered)
				case r.Outcomes == nil || !r.Outcomes[i].Class.Certain():
					if c.note(c.begun, m, &c.Begun) {
						c.doubts[m.Delivery]++
					}
				}
			}
		}
		if c.Connections != 0 && inDoubt > c.Connections {
			c.tb.Errorf("%d envelopes were in doubt on %d connections", inDoubt, c.Connections)
		}
	}
	c.leases(recorded)
}

// note counts what it sees for the first time.
func (c *Check) note(seen map[journal.Member]bool, m journal.Member, n *int) bool {
	if seen[m] {
		return false
	}
	seen[m] = true
	*n++
	return true
}

// records reads a copy of a journal: its own may be locked by a process that
// lives, as its owner or to recover it.
func (c *Check) records(path string) []journal.Record {
	c.tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		c.tb.Fatal(err)
	}
	dir, err := os.MkdirTemp(c.tb.TempDir(), "journal-")
	if err != nil {
		c.tb.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(name, content, 0o600); err != nil {
		c.tb.Fatal(err)
	}
	j, err := journal.Open(name)
	if err != nil {
		c.tb.Errorf("a process's journal: %v", err)
		return nil
	}
	defer func() {
		if err := j.Close(); err != nil {
			c.tb.Error(err)
		}
	}()
	return j.Records()
}

// leases checks that what was leased and not begun is not at the hop.
func (c *Check) leases(recorded map[journal.Member]bool) {
	c.tb.Helper()
	ctx := c.tb.Context()
	copies := c.sink.Copies()
	workers, err := c.ledger.Workers(ctx)
	if err != nil {
		c.tb.Fatal(err)
	}
	for _, w := range workers {
		leased, err := c.ledger.Leases(ctx, w.ID, postledger.ID{}, 10_000)
		if err != nil {
			c.tb.Fatal(err)
		}
		c.Leased += len(leased)
		for _, l := range leased {
			n := copies[l.Address]
			if n == 0 || recorded[journal.Member{Delivery: l.ID, Fence: l.Fence}] {
				continue
			}
			// A lease does not say whether it was sent again.
			d, _, err := c.ledger.DeliveryByID(ctx, l.ID)
			if err != nil {
				c.tb.Fatal(err)
			}
			if n > c.Allowed(d.ID, d.Resent)-1 {
				c.tb.Errorf("%s has no record and is at the hop %d times", l.Address, n)
			}
		}
	}
}

// Allowed is how many copies of a delivery the hop may have in the end: one, and
// one more for each lease under which it was in doubt before it was sent again.
func (c *Check) Allowed(id postledger.ID, resent bool) int {
	if !c.Resends || !resent {
		return 1
	}
	return 1 + c.doubts[id]
}

// Ending is what End found.
type Ending struct {
	States map[postledger.Status]int
	// Resent is how many deliveries the ledger marks so, and Doubled how many of
	// them the hop has more than once.
	Resent, Doubled int
}

// End checks all deliveries, when nothing is queued or sending any more and
// the last process has stopped.
func (c *Check) End(ids []postledger.ID) Ending {
	c.tb.Helper()
	copies := c.sink.Copies()
	end := Ending{States: map[postledger.Status]int{}}
	for _, id := range ids {
		d, ok, err := c.ledger.DeliveryByID(c.tb.Context(), id)
		if err != nil || !ok {
			c.tb.Fatalf("delivery %s: found %v, %v", id, ok, err)
		}
		end.States[d.Status]++
		n := copies[d.Address]
		delete(copies, d.Address)
		c.delivery(&d, n)
		if d.Resent {
			end.Resent++
			if n > 1 {
				end.Doubled++
			}
		}
	}
	for address, n := range copies {
		c.tb.Errorf("%s is at the hop %d times, and nobody sent it", address, n)
	}
	return end
}

// delivery checks one that has come to its end, and of which the hop has n copies.
func (c *Check) delivery(d *postledger.Delivery, n int) {
	c.tb.Helper()
	if n > c.Allowed(d.ID, d.Resent) {
		c.tb.Errorf("%s was sent %d times; resent %v, in doubt under %d leases", d.Address, n, d.Resent, c.doubts[d.ID])
	}
	if d.Resent && c.doubts[d.ID] == 0 {
		c.tb.Errorf("%s was sent again, and was never in doubt", d.Address)
	}
	switch d.Status {
	case postledger.StatusSent:
		if n == 0 {
			c.tb.Errorf("%s is sent, and the hop never had it", d.Address)
		}
	case postledger.StatusFailed:
		if n != 0 {
			c.tb.Errorf("%s is %s/%s, and the hop has it", d.Address, d.Status, d.Reason)
		}
	case postledger.StatusUnconfirmed:
		m := journal.Member{Delivery: d.ID, Fence: d.Fence}
		if !c.begun[m] || c.answered[m] {
			c.tb.Errorf("%s is unconfirmed; its journal record: begun %v, answered %v", d.Address, c.begun[m], c.answered[m])
		}
		if c.Resends && !d.Resent {
			c.tb.Errorf("%s is unconfirmed, and was not sent again", d.Address)
		}
	default:
		c.tb.Errorf("%s is %s/%s in the end", d.Address, d.Status, d.Reason)
	}
}
