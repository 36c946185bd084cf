package crashtest

import (
	"context"
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
	// Connections, unless zero, is how many a process has: no journal may have
	// more envelopes in doubt.
	Connections int
	// Leased, Begun and Answered count what the kills met, so that a caller
	// can tell whether they met anything.
	Leased, Begun, Answered int
}

// NewCheck makes one; each delivery must have an address of its own.
func NewCheck(tb testing.TB, l Ledger, s *Sink, journalDir string) *Check {
	return &Check{
		tb: tb, ledger: l, sink: s, journalDir: journalDir,
		begun: map[journal.Member]bool{}, answered: map[journal.Member]bool{},
	}
}

// AfterKill is called between a kill and the next start.
func (c *Check) AfterKill() {
	c.tb.Helper()
	ctx := c.tb.Context()
	state, err := c.ledger.ReadState(ctx)
	if err != nil {
		c.tb.Fatal(err)
	}
	entries, err := journal.List(c.journalDir, state.LedgerID)
	if err != nil {
		c.tb.Fatal(err)
	}
	recorded := map[journal.Member]bool{}
	for _, e := range entries {
		dead, err := journal.Open(e.Path)
		if err != nil {
			c.tb.Errorf("a killed process's journal: %v", err)
			continue
		}
		inDoubt := 0
		for _, r := range dead.Records() {
			if !r.Answered {
				inDoubt++
			}
			for i, m := range r.Members {
				recorded[m] = true
				switch {
				case r.Answered:
					c.Answered++
					c.answered[m] = true
				case r.Outcomes == nil || !r.Outcomes[i].Class.Certain():
					c.Begun++
					c.begun[m] = true
				}
			}
		}
		if c.Connections != 0 && inDoubt > c.Connections {
			c.tb.Errorf("%d envelopes were in doubt on %d connections", inDoubt, c.Connections)
		}
		if err := dead.Close(); err != nil {
			c.tb.Error(err)
		}
	}
	c.leases(recorded)
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
			if !recorded[journal.Member{Delivery: l.ID, Fence: l.Fence}] && copies[l.Address] != 0 {
				c.tb.Errorf("%s has no record and is at the hop", l.Address)
			}
		}
	}
}

// End checks all deliveries, when nothing is queued or sending any more and
// the last process has stopped. It returns how many are in each state.
func (c *Check) End(ids []postledger.ID) map[postledger.Status]int {
	c.tb.Helper()
	copies := c.sink.Copies()
	states := map[postledger.Status]int{}
	for _, id := range ids {
		d, ok, err := c.ledger.DeliveryByID(c.tb.Context(), id)
		if err != nil || !ok {
			c.tb.Fatalf("delivery %s: found %v, %v", id, ok, err)
		}
		states[d.Status]++
		n := copies[d.Address]
		delete(copies, d.Address)
		if n > 1 {
			c.tb.Errorf("%s was sent %d times", d.Address, n)
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
		default:
			c.tb.Errorf("%s is %s/%s in the end", d.Address, d.Status, d.Reason)
		}
	}
	for address, n := range copies {
		c.tb.Errorf("%s is at the hop %d times, and nobody sent it", address, n)
	}
	return states
}
